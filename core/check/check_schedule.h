// Does what the scheduler says of a step agree with the rows, blocks and tokens of the step?
#pragma once

#include "core/check/check_context.h"

namespace hybridscope {

// Reports a request's scheduled tokens, if the metadata of every recurrent group that tells the
// lengths of rows has another number for this one request; and a hit that ends off the hash blocks.
// Runs before the checks of what follows from these. Requires nothing of the trace.
void check_schedule(CheckContext& context);

// What a step may not exceed: the settings that the engine was started with.

// Reports schedule_over_limit: more tokens than the step's budget, more requests than max_num_seqs,
// a request beyond max_model_len (vLLM v1/core/sched/scheduler.py, schedule).
void check_schedule_limits(CheckContext& context);

// Reports graph_not_captured: a replay of a size that was not captured, with rows that the captured
// graph of that size does not have, or one that is too small for the batch
// (semantics: cudagraph-dispatch, cudagraph-dispatch-v2).
void check_replayed_graph(CheckContext& context);

}  // namespace hybridscope
