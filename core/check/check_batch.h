// Whether the parts of a batch agree with each other: groups, rows, lengths, padding, and the two
// block tables.
#pragma once

#include "core/check/check_context.h"
#include "core/check/row_truth.h"

namespace hybridscope {

// Groups, rows and array sizes are such that the forward can be carried out at all; what is not is
// reported. False: nothing of the step may be executed.
bool check_shapes(CheckContext& context);

// Requires check_shapes. query_start_loc, seq_lens and counts of the batch against its rows;
// padding rows are null rows.
void check_common_metadata(CheckContext& context);

// Worker's against scheduler's block table in the columns that the row uses in this step: an
// attention row reads every column up to its last token.
void check_block_tables(CheckContext& context, const RowTruth& truth, const GroupTrace& group);

}  // namespace hybridscope
