// Reads and writes the settings object of a scenario file, and knows what people call settings,
// those of vLLM that are not modelled included.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// Fails for the first key that is not `known` in this object but is a setting of another one:
// "unknown key "method", which is a key of speculative_config".
void report_misplaced_settings(const JsonValue& place, const std::vector<std::string_view>& known);

// Fails for unknown keys, values out of range and settings that contradict each other.
EngineSettings read_settings(const JsonValue& place);

// Reads settings that are laid over others; these are not checked against each other.
EngineSettings read_changed_settings(const JsonValue& place);

// The settings that a script step may change: members "engine" and "policies" of `object`.
EngineSettings read_policy_settings(const JsonValue& object);

// The JSON of a value that get_setting returned: byte sizes become text such as "60GiB".
nlohmann::ordered_json setting_to_json(const Setting& setting, const SettingValue& value);

// The settings that are set, in the order of the settings table.
nlohmann::ordered_json settings_to_json(const EngineSettings& settings);

// What settings are called by people: the option of a command line, its short form, and a setting's
// name without the object that it is in.

// "--mamba-cache-mode,--mode": all options of a setting, the main one first. Settings inside an
// object have the object's name in front.
std::string option_names(const Setting& setting);
// "--max-num-seqs", "--num-speculative-tokens".
std::string main_option_of(const Setting& setting);

// The setting with this path, this name alone or this short form without dashes ("mode"); null:
// there is none.
const Setting* find_setting_called(std::string_view key);
// The setting that find_setting_called() finds, also with dashes. Error: there is none; the message
// lists all.
Result<const Setting*> setting_called(std::string_view key);

// What vLLM's settings have and ours do not, with the reason and what to do instead.

// Why a value of a setting ("speculative_config/method", "eagle") is not modelled. Empty: nothing
// is known of the value.
std::string_view why_value_not_modelled(std::string_view path, std::string_view value);

struct SettingNotModelled {
  std::string_view section;  // as in Setting; empty: top level
  std::string_view name;     // vLLM's spelling
  std::string_view why;      // and what to do
};

std::span<const SettingNotModelled> settings_not_modelled();

// Why there is no such setting; empty: nothing is known of it.
std::string_view why_setting_not_modelled(std::string_view section, std::string_view name);

}  // namespace hybridscope
