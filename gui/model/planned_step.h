// What is planned for a step that is still to be made: what the script and edits say of it, who
// joins, and the settings that it will run by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sessions/run/run_plan.h"

namespace hybridscope {

struct PlannedStep {
  ScriptStep script = {};  // what it does in this step; empty where nothing is said of it
  std::vector<std::string> words = {};  // of all of it, requests that join included
  std::int32_t budget = 0;              // tokens
  EngineProfile profile = EngineProfile::safe;
  PolicyOverrides policies = {};  // set against the profile
};

PlannedStep planned_step(const RunPlan& plan, std::int64_t step);

// What a script's step does, for people, a sentence part each: "accept 2 of A", "preempt B".
std::vector<std::string> words_of(const ScriptStep& changes);

}  // namespace hybridscope
