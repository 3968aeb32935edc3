// How kernels cut the packed tokens of several sequences: into chunks of the scans (Mamba2 SSD on
// packed and on absolute positions, FLA inside each sequence: GDN, KDA), into blocks of the varlen
// causal conv, and at the states that prefills store inside themselves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/mamba_builder_config.h"
#include "core/metadata/metadata_description.h"

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

// Owns the two pointer arrays. A call costs time for the programs of this and the previous call,
// not for the arrays' length. Results are valid until the next call.
class CausalConv1dMetadataBuilder {
 public:
  // query_start_loc: int32 [rows + 1]. Errors: empty array, a row of -8 tokens or less.
  Result<CausalConv1dMetadata> compute(std::span<const std::int32_t> query_start_loc);

 private:
  void clear_and_reserve(std::int32_t tot);

  std::vector<std::int32_t> nums_;
  std::vector<std::int32_t> batch_ptr_;               // -1 from dirty_ on
  std::vector<std::int32_t> token_chunk_offset_ptr_;  // -1 from dirty_ on
  std::int32_t dirty_ = 0;
};

// Tells which states prefills store inside themselves (semantics: checkpoint-metadata; vLLM
// layers/mamba/checkpoint.py, MambaPrefillCheckpointBuilder).

// Results are valid until the next call.
class CheckpointMetadataBuilder {
 public:
  explicit CheckpointMetadataBuilder(const MambaBuilderConfig& config)
      : settings_(config.checkpoint), block_size_(config.block_size) {}

  // The metadata of the rows from `first_row` on, without those whose element in `left_out`
  // ([num_reqs] or empty) is set. Errors: a block column outside the table.
  Result<CheckpointMetadata> build(const CommonAttentionMetadata& common, std::int32_t first_row,
                                   std::span<const std::uint8_t> left_out);

  // The metadata of another group's builder with the blocks of this group's table.
  // Errors: a table without one of its rows or columns.
  Result<CheckpointMetadata> with_table(const CheckpointMetadata& metadata,
                                        const TensorView<std::int32_t>& block_table);

 private:
  // The blocks of the table at the rows and columns.
  Status gather(const TensorView<std::int32_t>& block_table,
                const TensorView<std::int32_t>& request_rows,
                const TensorView<std::int32_t>& block_cols);

  CheckpointSettings settings_;
  std::int32_t block_size_;
  std::vector<std::int32_t> offsets_;
  std::vector<std::int32_t> request_rows_;
  std::vector<std::int32_t> block_cols_;
  std::vector<std::int32_t> state_indices_;
};

}  // namespace hybridscope
