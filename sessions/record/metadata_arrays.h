// The arrays that layers were given in a step, between a StepTrace's views and the owning arrays of
// a record.
#pragma once

#include <vector>

#include "core/trace/step_trace.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

// Appends the batch's arrays (query_start_loc, seq_lens, group -1) and, group by group, those of
// its builder's metadata by the reference's names, before them the columns that decode rows of mode
// all read from where the trace has them. Arrays behind whose written part every element
// is -1 (batch_ptr, token_chunk_offset_ptr) are kept as far as they are written.
void append_arrays(const StepTrace& trace, std::vector<ArrayRecord>& arrays);

}  // namespace hybridscope
