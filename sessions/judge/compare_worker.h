// What our worker made of a step against what the trace tells of the other one.
#pragma once

#include "core/trace/step_trace.h"
#include "sessions/judge/compared_step.h"
#include "sessions/judge/engine_worker.h"

namespace hybridscope {

// In turn: order of rows, the worker's block lists, accepted counts, graph, pre-copies with the
// counts and columns they leave, metadata, numbers of sampled tokens, post-copies. Only what is
// told is compared. `ours` is the worker's answer for this step.
MaybeDifference compare_worker(const ComparedStep& step, const EngineWorker& worker,
                               const StepTrace& ours);

// Parts of it.
MaybeDifference compare_copies(const ComparedStep& step, const StepTrace& ours,
                               EngineDecision launch);
MaybeDifference compare_metadata(const ComparedStep& step, const StepTrace& ours);

}  // namespace hybridscope
