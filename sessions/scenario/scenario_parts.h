// Reads and writes the parts `expect` and `script` of a scenario file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "sessions/scenario/scenario.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// Reads and writes the `expect` of a scenario file.

// Fails for wrong types and ranges; check_expectation checks rules and names.
Expectation read_expectation(const JsonValue& place);

nlohmann::ordered_json expectation_to_json(const Expectation& expect);

// Reads and writes the `script` of a scenario file.

// Fails for wrong types and ranges and steps that do not ascend; check_scenario checks names.
std::vector<ScriptStep> read_script(const JsonValue& place);

nlohmann::ordered_json script_step_to_json(const ScriptStep& step);

}  // namespace hybridscope
