// Whether the parts of a batch agree with each other: groups, rows, lengths, padding, and the two
// block tables.
#pragma once

#include "core/check/check_context.h"
#include "core/check/symbolic_state.h"

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

// Whether the metadata that a builder made for one mamba group agrees with the batch: sums, rows of
// each kind, token ranges, chunks, and whose accepted counts they are. Each kind of metadata says
// beside its struct what has to agree (core/metadata/builder_metadata.h).

// Checks that the group has metadata, and that every array that a forward reads is present and has
// a row for each row of its kind; reports those that are not. False: the group may not be executed.
bool check_metadata_shapes(CheckContext& context, const GroupTrace& group);

// Also checks that the persistent arrays of a full replay were written by this step's build.
// Requires check_shapes (check_batch.h) and check_metadata_shapes.
void check_group_metadata(CheckContext& context, const GroupTrace& group);

}  // namespace hybridscope
