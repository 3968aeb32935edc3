// compute_varlen_chunk_metadata, which the reference's tests call and no builder does: chunks on
// the grid of packed positions, cut by the chunk builder of Mamba2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

struct VarlenChunkMetadata {
  std::vector<std::int32_t> cu_chunk_seqlens{};    // [chunks + 1] exclusive prefix sum, tokens
  std::vector<std::int32_t> last_chunk_indices{};  // [sequences], -1: empty sequence
  std::vector<std::int32_t> seq_idx_chunks{};      // [chunks]
  friend bool operator==(const VarlenChunkMetadata&, const VarlenChunkMetadata&) = default;
};

// Chunks that cross neither a sequence nor a multiple of chunk_size in the packed tokens
// (semantics: compute-varlen-chunk-metadata). query_start_loc: [sequences + 1]. Errors: empty
// array, first element not 0, lengths that do not add up to the last element, chunk_size < 1.
Result<VarlenChunkMetadata> compute_varlen_chunk_metadata(
    std::span<const std::int32_t> query_start_loc, std::int32_t chunk_size);

}  // namespace hybridscope
