// Another engine's decisions against ours: both take the same steps, and the first place where they
// part is kept. What comes after it is not compared, because it would only follow from it.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "core/engine/policies.h"
#include "sessions/judge/compared_step.h"
#include "sessions/judge/engine_difference.h"
#include "sessions/judge/engine_scheduler.h"
#include "sessions/judge/engine_worker.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

// Only what a trace tells is compared, in the order of a step's phases (EngineDecision). Up to the
// first difference our engine has the state of the other one, so that each decision is made of the
// same inputs. Our worker is the V1 runner: of a V2 trace the rows differ.
class EngineComparison {
 public:
  // `policies`: those of a profile. `name_of`: of a request, also while it is no longer live.
  // Errors: settings that our engine refuses, with a pointer into the header.
  static Result<EngineComparison> create(const ForeignHeader& header, const Policies& policies,
                                         RequestName name_of);

  // Takes the next step of the trace. Requires: a step the reader let through.
  void compare(const ForeignStep& step);

  const std::optional<EngineDifference>& first_difference() const { return first_difference_; }
  // Steps that were compared, the one with the difference included.
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
