// Compares another engine's decisions with ours: both take the same steps, and the first difference
// is kept. Later differences are not compared, because they may only follow from the first.
#pragma once

#include <optional>
#include <vector>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "sessions/judge/engine_difference.h"
#include "sessions/judge/engine_scheduler.h"
#include "sessions/judge/engine_worker.h"
#include "sessions/judge/foreign_trace.h"
#include "sessions/scenario/engine_profile.h"

namespace hybridscope {

// The policies that our engine has under this profile when it is compared with such a trace.
PolicySet compared_policies(const ForeignHeader& header, const EngineProfile& profile);

// Compares what the trace has, in the order of a step's phases (EngineDecision). Up to the first
// difference our engine is in the same state as the other one, so each decision has the same
// inputs. Our runner is the trace's.
class EngineComparison {
 public:
  // `policies`: those of a profile. `name_of` must also answer for requests that have left. Errors:
  // settings that our engine refuses, with a pointer into the header.
  static Result<EngineComparison> create(const ForeignHeader& header, const PolicySet& policies,
                                         RequestName name_of,
                                         OtherHit other_hit = OtherHit::other_decision);

  // Takes the next step of the trace. Requires: the reader accepted the step.
  void compare(const ForeignStep& step);

  const std::optional<EngineDifference>& first_difference() const { return first_difference_; }
  const std::vector<UncomparedHit>& uncompared_hits() const { return scheduler_.uncompared_hits(); }
  // The number of steps compared, including the one with the difference.
  std::int64_t num_steps() const { return num_steps_; }

 private:
  EngineComparison(const EngineConfig& config, EngineScheduler scheduler, EngineWorker worker,
                   RequestName name_of);
  MaybeDifference compare_step(const ForeignStep& step);

  EngineConfig config_;
  EngineScheduler scheduler_;
  EngineWorker worker_;
  RequestName name_of_;
  std::optional<EngineDifference> first_difference_;
  std::int64_t num_steps_ = 0;
};

}  // namespace hybridscope
