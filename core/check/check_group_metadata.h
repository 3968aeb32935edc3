// Whether the metadata that a builder made for one mamba group agrees with the batch: sums, rows of
// each kind, token ranges, chunks, and whose accepted counts they are.
#pragma once

#include "core/check/check_context.h"

namespace hybridscope {

// The group has metadata, and every array that a forward reads is there and has a row for each row
// of its kind; what is not is reported. False: the group may not be executed.
bool check_metadata_shapes(CheckContext& context, const GroupTrace& group);

// Requires check_shapes (check_batch.h) and check_metadata_shapes. Persistent arrays of a full
// replay must have been written by this step's build.
void check_group_metadata(CheckContext& context, const GroupTrace& group);

// The programs and chunks that prefill rows are cut into, for kernels that scan packed tokens.
// `starts`: [rows + 1] token offsets of these rows, from 0.
struct PackedRows {
  std::int32_t group = -1;
  TensorView<std::int32_t> starts;
};
void check_conv_programs(CheckContext& context, const PackedRows& rows,
                         const CausalConv1dMetadata& conv1d);
// `first_row`: batch row of the first packed one.
void check_ssd_chunks(CheckContext& context, const PackedRows& rows, std::int32_t first_row,
                      const Mamba2Metadata& metadata);
void check_fla_chunks(CheckContext& context, const PackedRows& rows, const GdnMetadata& metadata);

}  // namespace hybridscope
