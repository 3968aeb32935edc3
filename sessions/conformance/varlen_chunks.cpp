#include "sessions/conformance/varlen_chunks.h"

#include <cstddef>
#include <string>

#include "core/metadata/chunk_metadata.h"

namespace hybridscope {

Result<VarlenChunkMetadata> compute_varlen_chunk_metadata(
    std::span<const std::int32_t> query_start_loc, std::int32_t chunk_size) {
  if (chunk_size < 1)
    return invalid_input("chunk_size is " + std::to_string(chunk_size) + " (expected at least 1)");
  if (query_start_loc.empty() || query_start_loc[0] != 0)
    return invalid_input("query_start_loc must begin with 0");
  // Mamba2 cuts a sequence on the grid of its own position: the packed position of its first token
  // taken for the number of computed tokens gives the packed grid. It lists chunks without tokens,
  // so empty sequences are left out.
  const std::size_t sequences = query_start_loc.size() - 1;
  std::vector<std::int32_t> first_positions;
  std::vector<std::int32_t> offsets{0};
  std::vector<std::size_t> sequence_of_row;
  for (std::size_t i = 0; i < sequences; ++i) {
    if (query_start_loc[i + 1] <= query_start_loc[i]) continue;
    first_positions.push_back(query_start_loc[i]);
    offsets.push_back(offsets.back() + query_start_loc[i + 1] - query_start_loc[i]);
    sequence_of_row.push_back(i);
  }
  Mamba2ChunkMetadataBuilder builder;
  const auto chunks = builder.compute({.chunk_size = chunk_size,
                                       .num_computed_tokens_p = first_positions,
                                       .query_start_loc_p = offsets});
  if (!chunks) return chunks.error();
  const Mamba2ChunkMetadata& cut = chunks.value();
  VarlenChunkMetadata result;
  result.cu_chunk_seqlens.assign(cut.cu_chunk_seqlen_p.data,
                                 cut.cu_chunk_seqlen_p.data + cut.cu_chunk_seqlen_p.rows);
  for (std::int32_t chunk = 0; chunk < cut.seq_idx_p.rows; ++chunk)
    result.seq_idx_chunks.push_back(static_cast<std::int32_t>(
        sequence_of_row[static_cast<std::size_t>(cut.seq_idx_p.at(chunk))]));
  result.last_chunk_indices.assign(sequences, -1);
  for (std::size_t row = 0; row < sequence_of_row.size(); ++row)
    result.last_chunk_indices[sequence_of_row[row]] =
        cut.last_chunk_indices_p.at(static_cast<std::int32_t>(row));
  if (!result.seq_idx_chunks.empty() && offsets.back() != query_start_loc.back())
    return invalid_input("chunks hold " + std::to_string(offsets.back()) +
                         " tokens, query_start_loc ends at " +
                         std::to_string(query_start_loc.back()));
  return result;
}

}  // namespace hybridscope
