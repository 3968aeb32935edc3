// Reads and writes the settings object of a scenario file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

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

}  // namespace hybridscope
