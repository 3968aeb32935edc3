#include "core/metadata/chunk_metadata.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/base/ids.h"
#include "core/base/math.h"
#include "core/metadata/persistent_buffer.h"

namespace hybridscope {
namespace {

Error bad_chunk_size(std::int32_t chunk_size) {
  return invalid_input("chunk_size is " + std::to_string(chunk_size) + " (expected at least 1)");
}

// Tokens of sequence i.
std::int32_t length_of(std::span<const std::int32_t> cu_seqlens, std::size_t i) {
  return cu_seqlens[i + 1] - cu_seqlens[i];
}

std::int32_t chunks_of(std::int32_t length, std::int32_t chunk_size) {
  return length / chunk_size + (length % chunk_size > 0 ? 1 : 0);
}

// Tokens that the chunk in which `computed` tokens end still lacks, 0 on a chunk boundary.
std::int32_t tokens_to_chunk_end(std::int32_t computed, std::int32_t chunk_size) {
  return -computed - floor_div(-computed, chunk_size) * chunk_size;
}

}  // namespace

Result<Mamba2ChunkMetadata> Mamba2ChunkMetadataBuilder::compute(const Mamba2ChunkInput& input) {
  const std::int32_t chunk_size = input.chunk_size;
  const std::size_t rows = input.num_computed_tokens_p.size();
  if (chunk_size < 1) return bad_chunk_size(chunk_size);
  if (input.query_start_loc_p.size() != rows + 1)
    return invalid_input("query_start_loc_p has " + std::to_string(input.query_start_loc_p.size()) +
                         " entries for " + std::to_string(rows) + " rows");
  const std::span<const std::int32_t> offsets = input.checkpoint_offsets_p;
  if (!offsets.empty() && offsets.size() != rows)
    return invalid_input("checkpoint_offsets_p has " + std::to_string(offsets.size()) +
                         " entries for " + std::to_string(rows) + " rows");
  cu_chunk_seqlen_.clear();
  seq_idx_.clear();
  std::int32_t* last_chunk_indices = grown(last_chunk_indices_, static_cast<std::int64_t>(rows));
  std::int32_t* checkpoint_chunk_idx =
      grown(checkpoint_chunk_idx_, static_cast<std::int64_t>(rows));
  bool any_checkpoint = false;
  std::int32_t pos = 0;
  // Cuts `left` tokens that follow `computed` ones of their row.
  const auto cut = [&](std::size_t row, std::int32_t computed, std::int32_t left) {
    const auto append = [&](std::int32_t tokens) {
      seq_idx_.push_back(static_cast<std::int32_t>(row));
      cu_chunk_seqlen_.push_back(pos);
      pos += tokens;
      left -= tokens;
    };
    // A chunk that an earlier step began comes first, and is listed even if it gets no tokens.
    const std::int32_t missing = tokens_to_chunk_end(computed, chunk_size);
    if (missing > 0) append(std::min(missing, left));
    while (left > 0) append(std::min(chunk_size, left));
    return static_cast<std::int32_t>(cu_chunk_seqlen_.size()) - 1;
  };
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t tokens = length_of(input.query_start_loc_p, row);
    const std::int32_t computed = input.num_computed_tokens_p[row];
    const std::int32_t offset = offsets.empty() ? 0 : offsets[row];
    if (tokens < 0)
      return invalid_input("row " + std::to_string(row) + " has " + std::to_string(tokens) +
                           " tokens");
    if (offset < 0 || offset > tokens)
      return invalid_input("row " + std::to_string(row) + " has its checkpoint after " +
                           std::to_string(offset) + " of " + std::to_string(tokens) + " tokens");
    checkpoint_chunk_idx[row] = offset > 0 ? cut(row, computed, offset) : 0;
    any_checkpoint |= offset > 0;
    last_chunk_indices[row] = cut(row, computed + offset, tokens - offset);
  }
  cu_chunk_seqlen_.push_back(pos);
  const auto view = [](const std::int32_t* data, std::size_t size) {
    return vector_view(data, static_cast<std::int32_t>(size));
  };
  Mamba2ChunkMetadata chunks{
      .cu_chunk_seqlen_p = view(cu_chunk_seqlen_.data(), cu_chunk_seqlen_.size()),
      .seq_idx_p = view(seq_idx_.data(), seq_idx_.size()),
      .last_chunk_indices_p = view(last_chunk_indices, rows)};
  if (any_checkpoint) chunks.checkpoint_chunk_idx = view(checkpoint_chunk_idx, rows);
  return chunks;
}

Result<TensorView<std::int32_t>> FlaChunkBuilder::prepare_chunk_indices(
    std::span<const std::int32_t> cu_seqlens, std::int32_t chunk_size) {
  if (chunk_size < 1) return bad_chunk_size(chunk_size);
  if (cu_seqlens.size() < 2) return invalid_input("no sequence to cut into chunks");
  std::int64_t total = 0;
  for (std::size_t i = 0; i + 1 < cu_seqlens.size(); ++i) {
    const std::int32_t length = length_of(cu_seqlens, i);
    if (length <= -chunk_size)
      return invalid_input("sequence " + std::to_string(i) + " has " + std::to_string(length) +
                           " tokens");
    total += chunks_of(length, chunk_size);
  }
  if (total > std::numeric_limits<std::int32_t>::max())
    return invalid_input("too many chunks: " + std::to_string(total));
  std::int32_t* out = grown(chunk_indices_, 2 * total);
  std::int32_t sequence = 0;
  for (std::size_t i = 0; i + 1 < cu_seqlens.size(); ++i) {
    const std::int32_t chunks = chunks_of(length_of(cu_seqlens, i), chunk_size);
    for (std::int32_t k = 0; k < chunks; ++k) {
      *out++ = sequence;
      *out++ = k;
    }
    if (chunks > 0) ++sequence;
  }
  return matrix_view<std::int32_t>(chunk_indices_.data(), static_cast<std::int32_t>(total), 2);
}

Result<TensorView<std::int32_t>> FlaChunkBuilder::prepare_chunk_offsets(
    std::span<const std::int32_t> cu_seqlens, std::int32_t chunk_size) {
  if (chunk_size < 1) return bad_chunk_size(chunk_size);
  if (cu_seqlens.empty()) return invalid_input("cu_seqlens is empty");
  const std::size_t sequences = cu_seqlens.size() - 1;
  std::int32_t* offsets = grown(chunk_offsets_, static_cast<std::int64_t>(sequences) + 1);
  offsets[0] = 0;
  for (std::size_t i = 0; i < sequences; ++i)
    offsets[i + 1] = offsets[i] + floor_div(length_of(cu_seqlens, i) + chunk_size - 1, chunk_size);
  return vector_view<std::int32_t>(offsets, static_cast<std::int32_t>(sequences) + 1);
}

namespace {

constexpr std::int32_t kMinPrograms = 1024;

std::int32_t pointer_array_length(std::int32_t tot) { return 2 * std::max(kMinPrograms, tot); }

}  // namespace

void CausalConv1dMetadataBuilder::clear_and_reserve(std::int32_t tot) {
  for (std::vector<std::int32_t>* array : {&batch_ptr_, &token_chunk_offset_ptr_}) {
    if (tot < dirty_) std::fill(array->begin() + tot, array->begin() + dirty_, kPadSlotId);
    const auto length = static_cast<std::size_t>(pointer_array_length(tot));
    if (array->size() < length) array->resize(length, kPadSlotId);
  }
  dirty_ = tot;
}

Result<CausalConv1dMetadata> CausalConv1dMetadataBuilder::compute(
    std::span<const std::int32_t> query_start_loc) {
  if (query_start_loc.empty()) return invalid_input("query_start_loc is empty");
  const std::size_t rows = query_start_loc.size() - 1;
  std::int32_t* nums = grown(nums_, static_cast<std::int64_t>(rows));
  std::int64_t tot = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t len = query_start_loc[row + 1] - query_start_loc[row];
    nums[row] = floor_div(len + kCausalConv1dBlockM - 1, kCausalConv1dBlockM);
    if (nums[row] < 0)
      return invalid_input("row " + std::to_string(row) + " has " + std::to_string(len) +
                           " tokens");
    tot += nums[row];
  }
  if (tot > std::numeric_limits<std::int32_t>::max() / 2)
    return invalid_input("too many conv programs: " + std::to_string(tot));

  const auto programs = static_cast<std::int32_t>(tot);
  clear_and_reserve(programs);
  std::int32_t* batch = batch_ptr_.data();
  std::int32_t* offset = token_chunk_offset_ptr_.data();
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t n = nums[row];
    batch = std::fill_n(batch, n, static_cast<std::int32_t>(row));
    for (std::int32_t k = 0; k < n; ++k) offset[k] = k;
    offset += n;
  }
  const std::int32_t length = pointer_array_length(programs);
  return CausalConv1dMetadata{
      .present = true,
      .tot = programs,
      .nums = vector_view<std::int32_t>(nums, static_cast<std::int32_t>(rows)),
      .batch_ptr = vector_view<std::int32_t>(batch_ptr_.data(), length),
      .token_chunk_offset_ptr = vector_view<std::int32_t>(token_chunk_offset_ptr_.data(), length)};
}

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
