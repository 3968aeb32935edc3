// Whether the metadata that a builder made for one mamba group agrees with the batch: sums, rows of
// each kind, token ranges, chunks, and whose accepted counts they are. Each kind of metadata says
// beside its struct what has to agree (core/metadata/builder_metadata.h).
#pragma once

#include "core/check/check_context.h"

namespace hybridscope {

// The group has metadata, and every array that a forward reads is there and has a row for each row
// of its kind; what is not is reported. False: the group may not be executed.
bool check_metadata_shapes(CheckContext& context, const GroupTrace& group);

// Requires check_shapes (check_batch.h) and check_metadata_shapes. Persistent arrays of a full
// replay must have been written by this step's build.
void check_group_metadata(CheckContext& context, const GroupTrace& group);

}  // namespace hybridscope
