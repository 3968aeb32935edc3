// Which requests copy, and the resulting moves.
#pragma once

#include "core/state/copy_decision.h"
#include "kernels/cuda/fused_types.cuh"

namespace hybridscope::fused {

// Decides all rows, lets block 0 publish them, and lists those that copy, in row order.
template <class Decide>
__device__ int find_copying_rows(const Args& args, const Decide& decide, Shared& shared) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  if (blockIdx.x == 0 && args.first_row == 0) {
    decide.prepare();
    __syncthreads();
  }
  int count = 0;
  for (int first = 0; first < args.num_rows; first += kThreads) {
    const int row = args.first_row + first + static_cast<int>(threadIdx.x);
    StateCopyDecision decision;
    if (row < args.first_row + args.num_rows) {
      decision = decide(row);
      if (blockIdx.x == 0) decide.publish(row, decision);
    }
    const unsigned int copying = __ballot_sync(~0U, decision.copies());
    if (lane == 0) shared.warp_counts[warp] = __popc(copying);
    __syncthreads();
    int before = count;
    for (int i = 0; i < kWarps; ++i) {
      if (i < warp) before += shared.warp_counts[i];
      count += shared.warp_counts[i];
    }
    if (decision.copies())
      shared.rows[before + __popc(copying & ((1U << lane) - 1))] = {
          row, decision.src_col, decision.dst_col, decision.accept_token_bias};
    __syncthreads();
  }
  return count;
}

// Number n of all moves of `count` copying rows, by stripe, row, tile.
__device__ inline Move look_up(const Args& args, const Shared& shared, int count, int n) {
  const int per_stripe = args.tiles_per_stripe * count;
  const int in_stripe = n % per_stripe;
  const CopyingRow row = shared.rows[in_stripe / args.tiles_per_stripe];
  const DeviceTile tile =
      args.tiles[n / per_stripe * args.tiles_per_stripe + in_stripe % args.tiles_per_stripe];
  const std::int32_t* table =
      args.block_tables[tile.tile.group_index] + row.row * args.block_table_stride_req;
  const std::int32_t src_col =
      tile.tile.conv_width > 0 ? row.src_col : row.src_col + row.accept_token_bias;
  const TileCopy copy = make_tile_copy(tile.tile, {.src_block = table[src_col],
                                                   .dst_block = table[row.dst_col],
                                                   .accept_token_bias = row.accept_token_bias});
  return {.src = tile.state_base + copy.src_byte_offset,
          .dst = tile.state_base + copy.dst_byte_offset,
          .pitch = copy.pitch,
          .segment_bytes = copy.segment_bytes,
          .num_segments = copy.num_segments,
          .order = copy.order};
}

// All addresses and sizes of a move are multiples of `bytes`.
__device__ inline bool is_aligned(const Move& move, int bytes) {
  const auto all = reinterpret_cast<std::uintptr_t>(move.src) |
                   reinterpret_cast<std::uintptr_t>(move.dst) |
                   static_cast<std::uintptr_t>(move.segment_bytes) |
                   static_cast<std::uintptr_t>(move.num_segments > 1 ? move.pitch : 0);
  return (all & static_cast<std::uintptr_t>(bytes - 1)) == 0;
}

}  // namespace hybridscope::fused
