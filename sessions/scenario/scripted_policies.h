// The policies from step to step when a script changes them. Policies set one by one override every
// profile. What keep_fixed_policies keeps never changes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/policy_set.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

class ScriptedPolicies {
 public:
  explicit ScriptedPolicies(const EngineSettings& settings);

  // The policies from this step on; empty: the step changes none.
  std::optional<PolicySet> change(const ScriptStep& step);

 private:
  EngineSettings settings_;  // only profile, runner and policies are used
  PolicySet at_start_;
};

// The policies that a change of profile does not change, one sentence per step.
std::vector<std::string> scripted_policy_notes(const EngineSettings& settings,
                                               const std::vector<ScriptStep>& script);

}  // namespace hybridscope
