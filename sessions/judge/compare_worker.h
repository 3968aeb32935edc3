// Compares our worker's step with that of the trace.
#pragma once

#include "core/trace/step_trace.h"
#include "sessions/judge/engine_difference.h"
#include "sessions/judge/engine_worker.h"

namespace hybridscope {

// Compares, in this order: order of rows, the worker's block lists, accepted counts, graph,
// pre-copies with the counts and columns they leave, metadata, numbers of sampled tokens,
// post-copies. Only what the trace has is compared. `ours` is the worker's answer for this step.
MaybeDifference compare_worker(const ComparedStep& step, const EngineWorker& worker,
                               const StepTrace& ours);

// The parts in compare_worker.cpp.
MaybeDifference compare_copies(const ComparedStep& step, const StepTrace& ours,
                               EngineDecision launch);
MaybeDifference compare_metadata(const ComparedStep& step, const StepTrace& ours);

}  // namespace hybridscope
