// Which rows and pieces a block of a walk has, and which block of a pool gets a state.
#pragma once

#include <cstdint>

#include "kernels/numeric/chunk_walk.cuh"

namespace hybridscope::numeric_cuda {

// Grid: parts of a head's state, times rows unless they run in turn; value heads.
struct WalkBlock {
  std::int32_t part;
  BatchTokens rows;  // [first, last) that the block runs
};
__device__ inline WalkBlock walk_block(const WalkTask& task) {
  const std::int32_t parts = (task.sizes.value_dim + kPartRows - 1) / kPartRows;
  const auto block = static_cast<std::int32_t>(blockIdx.x);
  if (task.in_turn) return {block, {0, task.rows.num_rows()}};
  return {block % parts, {block / parts, block / parts + 1}};
}

// Pieces [first, last) among which are all of a row: all pieces, or where rows run at the same time
// those of the row, which then lie together. All threads of the block must call it.
struct PieceRange {
  std::int32_t first;
  std::int32_t last;
};
__device__ inline PieceRange pieces_of(const WalkTask& task, std::int32_t row) {
  if (task.in_turn) return {0, task.num_pieces};
  __shared__ std::int32_t first;
  __shared__ std::int32_t last;
  if (threadIdx.x == 0) {
    first = task.num_pieces;
    last = 0;
  }
  __syncthreads();
  for (auto at = static_cast<std::int32_t>(threadIdx.x); at < task.num_pieces; at += kWalkThreads)
    if (task.scratch.pieces[at].row == row) {
      atomicMin(&first, at);
      atomicMax(&last, at + 1);
    }
  __syncthreads();
  return {first, last};
}
// The piece behind `at` if it is of the same row, so that it runs next; -1: it is not.
__device__ inline std::int32_t next_piece(const WalkTask& task, const PieceRange& range,
                                          std::int32_t at, std::int32_t row) {
  return at + 1 < range.last && task.scratch.pieces[at + 1].row == row ? at + 1 : -1;
}

// The block of the table that gets the state after `num_tokens` tokens of the row, besides the
// destination; 0: none (boundary_states of core/numeric).
__device__ inline std::int32_t boundary_block(const PrefillRows& rows, std::int32_t row,
                                              std::int32_t num_tokens) {
  const auto r = static_cast<std::size_t>(row);
  if (!rows.is_mode_all()) {
    const bool has = !rows.checkpoint_offsets.empty() && rows.checkpoint_offsets[r] > 0 &&
                     rows.checkpoint_offsets[r] == num_tokens;
    return has ? rows.checkpoint_blocks[r] : 0;
  }
  const BoundaryColumns columns = boundary_columns(rows, row);
  const std::int32_t behind = num_tokens - columns.num_tokens;
  if (behind < 0 || behind % rows.mamba_block_size != 0 || num_tokens > rows.tokens(row).size())
    return 0;
  const std::int32_t column = max(columns.first, 0) + behind / rows.mamba_block_size;
  return column < columns.last ? block_at(rows.state_indices, row, column) : 0;
}

}  // namespace hybridscope::numeric_cuda
