// What our scheduler decided against what the trace tells of the other one.
#pragma once

#include "sessions/judge/compared_step.h"
#include "sessions/judge/engine_scheduler.h"

namespace hybridscope {

// In turn: who ended, who was preempted, who is scheduled and in which order; then for each request
// in our order how it came in, its counts and its blocks; then blocks of requests that were not
// scheduled. `ours` is the scheduler's answer for this step.
MaybeDifference compare_schedule(const ComparedStep& step, const EngineScheduler& scheduler,
                                 const ReplayedSchedule& ours);

}  // namespace hybridscope
