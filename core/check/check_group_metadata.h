// Whether the metadata that a builder made for one mamba group agrees with the batch: sums, rows of
// each kind, token ranges, chunks, and whose accepted counts they are. Each kind of metadata says
// beside its struct what has to agree (core/metadata/builder_metadata.h).
#pragma once

#include "core/check/check_context.h"

namespace hybridscope {

// Checks that the group has metadata, and that every array that a forward reads is present and has
// a row for each row of its kind; reports those that are not. False: the group may not be executed.
bool check_metadata_shapes(CheckContext& context, const GroupTrace& group);

// Also checks that the persistent arrays of a full replay were written by this step's build.
// Requires check_shapes (check_batch.h) and check_metadata_shapes.
void check_group_metadata(CheckContext& context, const GroupTrace& group);

}  // namespace hybridscope
