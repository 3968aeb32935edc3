// Whether the parts of a batch agree with each other: groups, rows, lengths, padding, and the two
// block tables.
#pragma once

#include "core/check/check_context.h"
#include "core/check/row_truth.h"

namespace hybridscope {

// Checks that groups, rows and array sizes allow the forward to be executed, and reports those that
// do not. False: nothing of the step may be executed.
bool check_shapes(CheckContext& context);

// Compares query_start_loc, seq_lens and counts of the batch with its rows, and checks that padding
// rows are null rows. Requires check_shapes.
void check_common_metadata(CheckContext& context);

// Compares the worker's block table with the scheduler's in the columns that a row uses in this
// step: an attention row reads every column up to its last token.
void check_block_tables(CheckContext& context, const RowTruth& truth, const GroupTrace& group);

}  // namespace hybridscope
