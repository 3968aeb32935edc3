// What is planned for a step that has not been made yet: from the script and edits, the requests
// that join, and its settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sessions/run/run_plan.h"

namespace hybridscope {

struct PlannedStep {
  ScriptStep script = {};               // the script's changes in this step; may be empty
  std::vector<std::string> words = {};  // for all of it, joining requests included
  std::int32_t budget = 0;              // tokens
  EngineProfile profile = EngineProfile::safe;
  PolicyOverrides policies = {};  // that override the profile
};

PlannedStep planned_step(const RunPlan& plan, std::int64_t step);

// A script's step in words, one phrase each: "accept 2 of A", "preempt B".
std::vector<std::string> words_of(const ScriptStep& changes);

}  // namespace hybridscope
