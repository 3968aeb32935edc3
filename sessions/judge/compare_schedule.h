// Compares our scheduler's decisions with those of the trace.
#pragma once

#include "sessions/judge/engine_difference.h"
#include "sessions/judge/engine_scheduler.h"

namespace hybridscope {

// Compares, in this order: finished requests, preempted requests, scheduled requests and their
// order; then for each request in our order its admission, counts and blocks; then the blocks of
// requests that are not scheduled. `ours` is the scheduler's answer for this step.
MaybeDifference compare_schedule(const ComparedStep& step, const EngineScheduler& scheduler,
                                 const ReplayedSchedule& ours);

}  // namespace hybridscope
