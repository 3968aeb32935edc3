// What must hold between the parts of a scenario, or of a run that has lost its scenario.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/scenario/scenario.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {

// Names exist and are used once, sharing can be resolved, prompts and scripted counts fit the
// settings. What needs the model's sizes is checked by engine_setup.
void check_scenario(const Scenario& scenario, JsonErrors& errors);

// Steps at which requests join, by name. The names outlive it.
using JoinSteps = std::map<std::string_view, std::int32_t>;

// A scripted step and where it stands, for messages.
struct ScriptPlace {
  const ScriptStep& step;
  std::string pointer;
};

// Scripted names have joined, counts and budgets fit the settings, no policy of caching changes
// ("/script/0/accept/A").
void check_script_step(const ScriptPlace& place, const EngineSettings& settings,
                       const JoinSteps& requests, JsonErrors& errors);
void check_script(const std::vector<ScriptStep>& script, const EngineSettings& settings,
                  const JoinSteps& requests, JsonErrors& errors);

// Rules and requests are known ("/expect/findings/0/rule").
void check_expectation(const Expectation& expect, const JoinSteps& requests, JsonErrors& errors);

}  // namespace hybridscope
