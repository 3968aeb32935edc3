// Whether the parts of a batch agree with each other: rows, lengths, metadata, padding, and the two
// block tables.
#pragma once

#include "core/check/check_context.h"
#include "core/check/row_truth.h"

namespace hybridscope {

// query_start_loc, seq_lens and rows; padding rows are null rows.
void check_common_metadata(CheckContext& context);

// Sums, orders and row data of one mamba group's metadata; persistent arrays of a full replay.
void check_group_metadata(CheckContext& context, const GroupTrace& group);

// Worker's against scheduler's block table in the columns that the row uses in this step.
void check_block_tables(CheckContext& context, const RowTruth& truth, const GroupTrace& group);

}  // namespace hybridscope
