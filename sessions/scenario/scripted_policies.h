// Policies from step to step where a script changes them. What was said one by one stays on top of
// whatever profile there is; the caching policies stay those of the start, because blocks have been
// cached by them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/engine/policies.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

class ScriptedPolicies {
 public:
  explicit ScriptedPolicies(const EngineSettings& settings);

  // The policies from this step on; empty: it changes none.
  std::optional<Policies> change(const ScriptStep& step);

 private:
  EngineSettings settings_;  // profile, runner and policies only
  CachePolicies cache_;
};

// Which caching policies a change of profile leaves as they are, one sentence a step.
std::vector<std::string> scripted_policy_notes(const EngineSettings& settings,
                                               const std::vector<ScriptStep>& script);

}  // namespace hybridscope
