#include "core/metadata/checkpoint_metadata_builder.h"

#include <algorithm>
#include <string>

#include "core/base/ids.h"
#include "core/base/math.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/persistent_buffer.h"

namespace hybridscope {

Result<CheckpointMetadata> CheckpointMetadataBuilder::build(
    const CommonAttentionMetadata& common, std::int32_t first_row,
    std::span<const std::uint8_t> left_out) {
  if (settings_.alignment == 0) return CheckpointMetadata{};
  request_rows_.clear();
  block_cols_.clear();
  offsets_.clear();
  for (std::int32_t row = first_row; row < common.num_reqs; ++row) {
    const auto r = static_cast<std::size_t>(row);
    if (!left_out.empty() && left_out[r] != 0) continue;
    const std::int32_t end = common.seq_lens[r];
    const std::int32_t start = num_computed_tokens(common, row);
    const std::int32_t position =
        common.checkpoint_positions.empty()
            ? last_replay_position(end, settings_.hit_alignment, settings_.replay)
            : common.checkpoint_positions[r];
    const bool given = !common.checkpoint_columns.empty();
    const bool stores = given ? position > 0
                              : can_checkpoint({.start = start,
                                                .end = end,
                                                .block_size = block_size_,
                                                .hash_block_size = settings_.hash_block_size},
                                               position, settings_.alignment);
    const std::int32_t column = given ? common.checkpoint_columns[r] : cdiv(end, block_size_) - 2;
    if (stores && (position <= start || position >= end))
      return invalid_input("row " + std::to_string(row) + " computes tokens " +
                           std::to_string(start) + " to " + std::to_string(end) +
                           " and cannot store a state after " + std::to_string(position));
    request_rows_.push_back(row);
    block_cols_.push_back(stores ? column : -1);
    offsets_.push_back(stores ? position - start : 0);
  }
  if (std::ranges::all_of(offsets_, [](std::int32_t offset) { return offset == 0; }))
    return CheckpointMetadata{};
  const auto rows = static_cast<std::int32_t>(offsets_.size());
  CheckpointMetadata metadata{.checkpoint_offsets = vector_view(offsets_.data(), rows),
                              .state_indices = {},
                              .request_rows = vector_view(request_rows_.data(), rows),
                              .block_cols = vector_view(block_cols_.data(), rows)};
  return with_table(metadata, common.block_table_tensor);
}

Result<CheckpointMetadata> CheckpointMetadataBuilder::with_table(
    const CheckpointMetadata& metadata, const TensorView<std::int32_t>& block_table) {
  if (!metadata.checkpoint_offsets.present) return metadata;
  if (auto status = gather(block_table, metadata.request_rows, metadata.block_cols); !status)
    return status.error();
  CheckpointMetadata updated = metadata;
  updated.state_indices = vector_view(state_indices_.data(), metadata.checkpoint_offsets.rows);
  return updated;
}

Status CheckpointMetadataBuilder::gather(const TensorView<std::int32_t>& block_table,
                                         const TensorView<std::int32_t>& request_rows,
                                         const TensorView<std::int32_t>& block_cols) {
  state_indices_.clear();
  for (std::int32_t i = 0; i < request_rows.rows; ++i) {
    const std::int32_t row = request_rows.at(i);
    const std::int32_t column = block_cols.at(i);
    if (column >= block_table.cols || (column >= 0 && row >= block_table.rows))
      return invalid_input("the checkpoint of row " + std::to_string(row) + " goes to column " +
                           std::to_string(column) + " of a table with " +
                           std::to_string(block_table.rows) + " rows and " +
                           std::to_string(block_table.cols) + " columns");
    state_indices_.push_back(column < 0 ? kNullBlock : block_table.at(row, column));
  }
  return Ok{};
}

}  // namespace hybridscope
