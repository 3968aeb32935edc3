// A plan that goes another way from some step on, and the proof that it goes the same way before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/step_source.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

struct ForkAt {
  std::int32_t step = 1;  // the first that may differ
  ScriptStep changes =
      {};  // laid over what the script says of the step; its own `step` is not read
  std::vector<ScenarioRequest> requests = {};  // join before the step; their at_step is not read
  bool drop_script = false;  // what the script says from the step on does not happen
};

// The plan with the changes, without the expectations, which were about another run. Error,
// "fork at step 5: POINTER: ...": names that are not known or taken, counts that the settings do
// not allow, a caching policy, a request that could never finish.
Result<RunPlan> fork_plan(const RunPlan& plan, const ForkAt& at);

// The last step up to which both plans say the same; 0: they are of other engines.
std::int64_t num_agreed_steps(const RunPlan& a, const RunPlan& b);

// Holds the steps of a fork against its parent's while they are made: their numbers and digests.
// Where the parent's digests are of another version, only the numbers.
class ForkGuard {
 public:
  // `parent` outlives it and stands before its first step. The fork's first step that may differ.
  ForkGuard(StepSource& parent, std::int64_t step) : parent_(parent), step_(step) {}

  // Call for each step, in order. Error: a step before the fork's that the parent does not have or
  // has otherwise, which this program cannot have made from this plan; the parent's own.
  Status check(std::int64_t step, const StepDigests& digests);
  // Call when the fork has come to its end by itself. Error: the parent goes on before the fork's
  // step; the parent's own.
  Status finish();
  // Why digests are not compared, for people; empty: they are.
  std::string note() const;

 private:
  Error differs(std::int64_t step, const std::string& how) const;

  StepSource& parent_;
  std::int64_t step_;
  bool agreed_ = false;  // both have reached the fork's step
};

}  // namespace hybridscope
