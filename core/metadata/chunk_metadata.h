// How the scan kernels cut the packed tokens of several sequences into chunks: Mamba2 SSD on packed
// and on absolute positions, FLA (GDN, KDA) inside each sequence.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor_view.h"

namespace hybridscope {

// Views of arrays that a Mamba2ChunkMetadataBuilder owns; absent without prefill rows.
struct Mamba2ChunkMetadata {
  TensorView<std::int32_t> cu_chunk_seqlen_p{};     // [chunks + 1]
  TensorView<std::int32_t> seq_idx_p{};             // [chunks]
  TensorView<std::int32_t> last_chunk_indices_p{};  // [rows]; a row without chunks repeats the
                                                    // value of the row before it, -1 for the first
  // [rows] last chunk before the row's checkpoint, 0: none; absent if no row has a checkpoint.
  TensorView<std::int32_t> checkpoint_chunk_idx{};
};

struct Mamba2ChunkInput {
  std::int32_t chunk_size = 1;
  std::span<const std::int32_t> num_computed_tokens_p{};  // [rows]
  std::span<const std::int32_t> query_start_loc_p{};      // [rows + 1]
  std::span<const std::int32_t> checkpoint_offsets_p{};   // [rows] tokens, 0: none; empty: none
};

// Chunks aligned to each sequence's own absolute position (semantics: compute-chunk-metadata). A
// chunk ends on a row's checkpoint: the tokens before and behind it are cut like two rows. Results
// are valid until the next call.
class Mamba2ChunkMetadataBuilder {
 public:
  // Errors: chunk_size < 1, sizes that do not fit, a row of negative length, a checkpoint outside
  // its row.
  Result<Mamba2ChunkMetadata> compute(const Mamba2ChunkInput& input);

 private:
  std::vector<std::int32_t> cu_chunk_seqlen_;
  std::vector<std::int32_t> seq_idx_;
  std::vector<std::int32_t> last_chunk_indices_;
  std::vector<std::int32_t> checkpoint_chunk_idx_;
};

// Chunk lists of the FLA kernels (semantics: prepare-chunk-indices, prepare-chunk-offsets). Results
// are valid until the next call of the same function.
class FlaChunkBuilder {
 public:
  // int32 [chunks, 2]: number of the sequence among those that have a chunk, chunk inside it
  // (prepare_chunk_indices). Errors: fewer than 2 elements, a length of -chunk_size or less,
  // chunk_size < 1, 2^31 chunks or more.
  Result<TensorView<std::int32_t>> prepare_chunk_indices(std::span<const std::int32_t> cu_seqlens,
                                                         std::int32_t chunk_size);

  // [sequences + 1] exclusive prefix sum of chunks, int64 in the reference
  // (prepare_chunk_offsets). Errors: empty array, chunk_size < 1.
  Result<TensorView<std::int32_t>> prepare_chunk_offsets(std::span<const std::int32_t> cu_seqlens,
                                                         std::int32_t chunk_size);

 private:
  std::vector<std::int32_t> chunk_indices_;
  std::vector<std::int32_t> chunk_offsets_;
};

}  // namespace hybridscope
