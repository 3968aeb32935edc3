// The forward of one step on symbolic state: reads the metadata of every KV-cache group as the
// layer kernels would and runs each row (docs/semantics/forward.md).
#pragma once

#include "core/check/check_context.h"
#include "core/check/symbolic_state.h"

namespace hybridscope {

// Recurrent layers of one group. Requires check_metadata_shapes (check_batch.h).
void execute_mamba_group(CheckContext& context, const RowTruth& truth, const GroupTrace& group);

// Reports each row of a dummy run that is not a null row, and folds a placeholder into the state of
// the block that it names.
void execute_dummy_rows(CheckContext& context);

// Keys and values of one attention group: every token of a row goes to the slot of its position, in
// blocks that are filled without gaps, after slots that hold the row's prefix.
void execute_attention_group(CheckContext& context, const RowTruth& truth, const GroupTrace& group);

// Checks that every column that attention reads in this step, not only the last one, is filled to
// its end.
void check_attention_reads(CheckContext& context, const RowTruth& truth, const GroupTrace& group);

}  // namespace hybridscope
