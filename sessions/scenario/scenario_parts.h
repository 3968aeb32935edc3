// Reads, writes and checks the parts `expect` and `script` of a scenario file.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
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

// Checks between the parts of a scenario, or of a plan without its scenario: a JsonFault says what
// does not fit.

// Names exist and are unique, sharing can be resolved, prompts and scripted counts fit the
// settings. Checks that need the model's sizes are in engine_setup.
void check_consistency(const Scenario& scenario);

// The steps at which requests join, by name. The names must outlive it.
using JoinSteps = std::map<std::string_view, std::int32_t>;

// A scripted step and its place, for messages.
struct ScriptPlace {
  const ScriptStep& step;
  std::string pointer;
};

// Checks that scripted names have joined, counts and budgets fit the settings, and no caching
// policy changes ("/script/0/accept/A").
void check_script_step(const ScriptPlace& place, const EngineSettings& settings,
                       const JoinSteps& requests);
void check_script(const std::vector<ScriptStep>& script, const EngineSettings& settings,
                  const JoinSteps& requests);

// Checks that rules and requests are known ("/expect/findings/0/rule").
void check_expectation(const Expectation& expect, const JoinSteps& requests);

}  // namespace hybridscope
