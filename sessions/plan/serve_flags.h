// The flags of `vllm serve` that are settings here, and how their values are spelled.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/scenario/settings.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {

// "--Max_Num-Seqs" is no flag; "--max_num_seqs", "--no-x" and "-tp" are. The name without dashes in
// front, with dashes for underscores, long for short: "max-num-seqs", "tensor-parallel-size".
std::string flag_name(std::string_view word);

// The setting of a flag by its name; null: the flag is no setting here. `negated`: the name begins
// with "no-" and the setting is a boolean.
const Setting* setting_of_flag(std::string_view name, bool& negated);

// The JSON flags whose objects hold settings: "speculative-config", "compilation-config".
bool is_json_flag(std::string_view name);
// The setting under `key` of such a flag; null: there is none.
const Setting* setting_in_json_flag(std::string_view name, std::string_view key);
// The JSON flag that holds the setting; empty: it has a flag of its own, or none.
std::string_view json_flag_of(const Setting& setting);

// "--max-num-seqs"; empty: `vllm serve` has no flag of the setting.
std::string flag_of_setting(const Setting& setting);

// Does a flag that is no setting take a value?
bool takes_value(std::string_view name);

// Stores the value of a flag: numbers also as "8k" (1,000) and "8K" (1,024), lists also as JSON,
// methods of a draft model by its own name ("qwen3_next_mtp") as mtp. Error: that of
// set_setting_text.
Status set_flag(EngineSettings& settings, const Setting& setting, std::string_view value);

// The value as a flag has it; empty for an unset one. Booleans: "true", "false".
std::string flag_value(const EngineSettings& settings, const Setting& setting);

// The environment variables that are settings: "VLLM_USE_V2_MODEL_RUNNER". Null: there is none.
const Setting* setting_of_variable(std::string_view name);
std::string_view variable_of_setting(const Setting& setting);
std::string setting_text_of_variable(const Setting& setting, std::string_view value);
std::string variable_value(const EngineSettings& settings, const Setting& setting);

}  // namespace hybridscope
