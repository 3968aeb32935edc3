#include "core/metadata/checkpoint_metadata_builder.h"

#include <algorithm>
#include <string>

#include "core/base/ids.h"
#include "core/base/math.h"
#include "core/metadata/num_computed_tokens.h"
#include "core/metadata/persistent_buffer.h"

namespace hybridscope {

Result<CheckpointMetadata> CheckpointMetadataBuilder::build(
    const CommonAttentionMetadata& common, std::int32_t first_row,
    std::span<const std::uint8_t> left_out) {
  if (settings_.alignment == 0) return CheckpointMetadata{};
  entries_.clear();
  offsets_.clear();
  for (std::int32_t row = first_row; row < common.num_reqs; ++row) {
    const auto r = static_cast<std::size_t>(row);
    if (!left_out.empty() && left_out[r] != 0) continue;
    const std::int32_t end = common.seq_lens[r];
    const std::int32_t start = num_computed_tokens(common, row);
    const std::int32_t position =
        last_replay_position(end, settings_.hit_alignment, settings_.replay);
    const bool stores = can_checkpoint({.start = start,
                                        .end = end,
                                        .block_size = block_size_,
                                        .hash_block_size = settings_.hash_block_size},
                                       position, settings_.alignment);
    entries_.push_back({row, stores ? cdiv(end, block_size_) - 2 : -1});
    offsets_.push_back(stores ? position - start : 0);
  }
  if (std::ranges::all_of(offsets_, [](std::int32_t offset) { return offset == 0; }))
    return CheckpointMetadata{};
  if (auto status = set_state_indices(common.block_table_tensor); !status) return status.error();
  const auto rows = static_cast<std::int32_t>(offsets_.size());
  return CheckpointMetadata{.checkpoint_offsets = vector_view(offsets_.data(), rows),
                            .state_indices = vector_view(state_indices_.data(), rows)};
}

Result<CheckpointMetadata> CheckpointMetadataBuilder::with_table(
    const CheckpointMetadata& metadata, const TensorView<std::int32_t>& block_table) {
  if (!metadata.checkpoint_offsets.present) return metadata;
  if (auto status = set_state_indices(block_table); !status) return status.error();
  CheckpointMetadata updated = metadata;
  updated.state_indices = vector_view(state_indices_.data(), metadata.checkpoint_offsets.rows);
  return updated;
}

Status CheckpointMetadataBuilder::set_state_indices(const TensorView<std::int32_t>& block_table) {
  state_indices_.clear();
  for (const Entry& entry : entries_) {
    if (entry.column >= block_table.cols || (entry.column >= 0 && entry.row >= block_table.rows))
      return invalid_input("the checkpoint of row " + std::to_string(entry.row) +
                           " goes to column " + std::to_string(entry.column) + " of a table with " +
                           std::to_string(block_table.rows) + " rows and " +
                           std::to_string(block_table.cols) + " columns");
    state_indices_.push_back(entry.column < 0 ? kNullBlock
                                              : block_table.at(entry.row, entry.column));
  }
  return Ok{};
}

}  // namespace hybridscope
