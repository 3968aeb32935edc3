// The settings object of a scenario file, both ways.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sessions/scenario/settings_table.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {

// Reports unknown keys, values out of range and settings that exclude each other.
EngineSettings read_settings(const JsonPlace& place, JsonErrors& errors);

// The same for settings that change others: alone they may exclude each other.
EngineSettings read_changed_settings(const JsonPlace& place, JsonErrors& errors);

// What a step of a script may change of them: members "engine" and "policies" of `reader`'s object.
EngineSettings read_policy_settings(const ObjectReader& reader, JsonErrors& errors);

// A value that get_setting answered: byte sizes become text such as "60GiB".
nlohmann::ordered_json setting_to_json(const Setting& setting, const SettingValue& value);

// What is set, in the order of the settings table.
nlohmann::ordered_json settings_to_json(const EngineSettings& settings);

}  // namespace hybridscope
