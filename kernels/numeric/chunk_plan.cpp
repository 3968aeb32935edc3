#include "kernels/numeric/recurrences_cuda.h"

#include <algorithm>

namespace hybridscope {
namespace {

class PlannedChunks {
 public:
  void add(const RowChunk& chunk) {
    if (chunk.row < 0 || chunk.first >= chunk.last) return;
    plan_.num_pieces += (chunk.last - chunk.first + kPieceTokens - 1) / kPieceTokens;
    plan_.in_turn = plan_.in_turn || chunk.row < row_ || chunk.first < end_;
    row_ = chunk.row;
    end_ = chunk.last;
  }
  ChunkPlan plan() const { return plan_; }

 private:
  ChunkPlan plan_;
  std::int32_t row_ = 0;  // of the last chunk
  std::int32_t end_ = 0;
};

}  // namespace

ChunkPlan plan_chunks(std::span<const RowChunk> chunks, std::int32_t num_tokens) {
  PlannedChunks planned;
  for (const RowChunk& chunk : chunks)
    if (chunk.first >= 0 && chunk.last <= num_tokens) planned.add(chunk);
  return planned.plan();
}

ChunkPlan plan_chunks(const Mamba2Chunks& chunks, std::int32_t num_tokens) {
  PlannedChunks planned;
  for (std::size_t k = 0; k < chunks.seq_idx.size() && k + 1 < chunks.cu_chunk_seqlen.size(); ++k)
    planned.add({chunks.seq_idx[k], std::max(chunks.cu_chunk_seqlen[k], 0),
                 std::min(chunks.cu_chunk_seqlen[k + 1], num_tokens)});
  return planned.plan();
}

}  // namespace hybridscope
