// What the parts of the fused copy kernel share: sizes, arguments, and the values that pass between
// its warps.
#pragma once

#include <cstdint>

#include "core/state/copy_decision.h"
#include "kernels/tiles/copy_tiles.h"

namespace hybridscope::fused {

inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kMaxRows = 1024;  // of one launch
inline constexpr int kMaxGroups = 16;
inline constexpr int kTileBytes = 13824;
inline constexpr int kStages = 4;
inline constexpr int kStageBytes = kTileBytes * kStages;  // of dynamic shared memory
inline constexpr int kProducers = 3;                      // warps 1..kProducers
inline constexpr int kRing = 8;                           // moves between look-up and store
inline constexpr int kStatic = 3;                         // moves of a producer with fixed numbers
inline constexpr int kMovers = kWarps - 1 - kProducers;   // the remaining warps
// The engine may wait for a move while kStages others are not stored yet and all producers but one
// have ended: the ring still has a slot for it.
static_assert(kMovers > 0 && kRing >= kStages + kProducers);

struct alignas(16) DeviceTile {
  CopyTile tile;
  char* state_base = nullptr;  // element [0, 0, ...] of the state tensor
};

// Zero before a launch, and again after it.
struct Counters {
  unsigned int next_tile = 0;
  unsigned int blocks_done = 0;
};

struct Args {
  const DeviceTile* tiles = nullptr;  // [tiles_per_row]
  Counters* counters = nullptr;
  const std::int32_t* block_tables[kMaxGroups] = {};  // a group: [rows, columns]
  std::int64_t block_table_stride_req = 0;            // elements
  std::int32_t tiles_per_row = 0;
  std::int32_t tiles_per_stripe = 0;
  std::int32_t first_row = 0;
  std::int32_t num_rows = 0;        // at most kMaxRows
  bool use_engine = false;          // only where there is one
  std::int32_t permute_blocks = 0;  // FusedAlignOptions
  std::int32_t delay_every = 0;
};

// The block whose work this one does.
__device__ inline int work_of_block(const Args& args) {
  if (args.permute_blocks == 0) return static_cast<int>(blockIdx.x);
  return static_cast<int>(std::int64_t{blockIdx.x} * args.permute_blocks % gridDim.x);
}

__device__ inline void delay(const Args& args) {
  if (args.delay_every == 0 || blockIdx.x % static_cast<unsigned>(args.delay_every) != 0) return;
  for (int i = 0; i < 200; ++i) __nanosleep(1000);
}

struct CopyingRow {
  std::int32_t row = 0;
  std::int32_t src_col = 0;
  std::int32_t dst_col = 0;
  std::int32_t accept_token_bias = 0;
};

// A tile's copy as addresses.
struct Move {
  const char* src = nullptr;
  char* dst = nullptr;
  std::int64_t pitch = 0;
  std::int32_t segment_bytes = 0;
  std::int32_t num_segments = 0;  // 0: nothing to move; kEnd: no more moves
  TileOrder order = TileOrder::any;
};
inline constexpr std::int32_t kEnd = -1;

struct Shared {
  CopyingRow rows[kMaxRows];
  std::int32_t warp_counts[kWarps];
  std::int32_t next_turn;
  Move ring[kRing];
  std::uint64_t looked_up[kRing];      // barriers: the slot holds a move
  std::uint64_t moved[kRing];          // the slot may be used again
  std::uint64_t loaded[kStages];       // the stage holds its bytes
  std::uint32_t stage_slots[kStages];  // of the ring: the move whose bytes a stage holds
};

// Which requests copy, and the resulting moves.

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
