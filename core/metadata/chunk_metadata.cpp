#include "core/metadata/chunk_metadata.h"

#include <algorithm>
#include <limits>
#include <string>

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

}  // namespace hybridscope
