// Moves made by warps, with loads and stores: any alignment, any device.
#pragma once

#include "kernels/cuda/fused_types.cuh"

namespace hybridscope::fused {

// One region that overlaps nothing: kDepth loads of a lane in flight, then the stores.
template <class T>
__device__ void copy_region(const Move& move, int lane) {
  constexpr int kDepth = 10;
  const T* src = reinterpret_cast<const T*>(move.src);
  T* dst = reinterpret_cast<T*>(move.dst);
  const int size = move.segment_bytes / static_cast<int>(sizeof(T));
#pragma unroll 1
  for (int first = lane; first < size; first += 32 * kDepth) {
    T values[kDepth];
#pragma unroll
    for (int i = 0; i < kDepth; ++i)
      if (first + 32 * i < size) values[i] = __ldcs(src + first + 32 * i);
#pragma unroll
    for (int i = 0; i < kDepth; ++i)
      if (first + 32 * i < size) __stcs(dst + first + 32 * i, values[i]);
  }
}

// A lane takes one offset through all segments: it has read what it overwrites.
template <class T>
__device__ void copy_ascending(const Move& move, int lane) {
#pragma unroll 1
  for (int i = lane * static_cast<int>(sizeof(T)); i < move.segment_bytes;
       i += 32 * static_cast<int>(sizeof(T)))
#pragma unroll 1
    for (int segment = 0; segment < move.num_segments; ++segment)
      *reinterpret_cast<T*>(move.dst + segment * move.pitch + i) =
          *reinterpret_cast<const T*>(move.src + segment * move.pitch + i);
}

// A lane takes whole segments, kAtOnce together and kDepth elements of each; a segment's source
// lies above its destination or apart from it, and what is read first is written first.
template <class T, int kDepth, int kAtOnce>
__device__ void copy_rows(const Move& move, int lane) {
  const int size = move.segment_bytes / static_cast<int>(sizeof(T));
  const int pitch = static_cast<int>(move.pitch);  // all of them lie in one tile
#pragma unroll 1
  for (int first = lane; first < move.num_segments; first += 32 * kAtOnce)
#pragma unroll 1
    for (int begin = 0; begin < size; begin += kDepth) {
      const int offset = first * pitch + begin * static_cast<int>(sizeof(T));
      T values[kAtOnce][kDepth];
#pragma unroll
      for (int row = 0; row < kAtOnce; ++row)
#pragma unroll
        for (int i = 0; i < kDepth; ++i)
          if (first + 32 * row < move.num_segments && begin + i < size)
            values[row][i] = reinterpret_cast<const T*>(move.src + (offset + 32 * row * pitch))[i];
#pragma unroll
      for (int row = 0; row < kAtOnce; ++row)
#pragma unroll
        for (int i = 0; i < kDepth; ++i)
          if (first + 32 * row < move.num_segments && begin + i < size)
            reinterpret_cast<T*>(move.dst + (offset + 32 * row * pitch))[i] = values[row][i];
    }
}

template <class T>
__device__ void copy_segments(const Move& move, int lane) {
  if (move.order != TileOrder::rows)
    copy_ascending<T>(move, lane);
  else if (move.segment_bytes <= static_cast<int>(4 * sizeof(T)))
    copy_rows<T, 4, 8>(move, lane);
  else
    copy_rows<T, 8, 4>(move, lane);
}

// The move that another lane of the warp holds.
__device__ inline Move from_lane(const Move& move, int lane) {
  const auto take = [lane](auto value) { return __shfl_sync(~0U, value, lane); };
  return {
      .src = reinterpret_cast<const char*>(take(reinterpret_cast<unsigned long long>(move.src))),
      .dst = reinterpret_cast<char*>(take(reinterpret_cast<unsigned long long>(move.dst))),
      .pitch = static_cast<std::int64_t>(take(static_cast<long long>(move.pitch))),
      .segment_bytes = take(move.segment_bytes),
      .num_segments = take(move.num_segments),
      .order = static_cast<TileOrder>(take(static_cast<int>(move.order)))};
}

// By one warp, with wide accesses where the addresses allow it; state elements have 2 bytes or
// more.
__device__ __noinline__ void copy_by_warp(const Move& move, int lane) {
  if (move.num_segments == 0) return;
  if (move.num_segments == 1 && move.order != TileOrder::rows) {
    if (is_aligned(move, 16))
      copy_region<uint4>(move, lane);
    else if (is_aligned(move, 4))
      copy_region<std::uint32_t>(move, lane);
    else
      copy_region<std::uint16_t>(move, lane);
  } else if (is_aligned(move, 4)) {
    copy_segments<std::uint32_t>(move, lane);
  } else {
    copy_segments<std::uint16_t>(move, lane);
  }
}

__device__ inline bool is_for_engine(const Move& move) {
  return move.order != TileOrder::rows && is_aligned(move, 16);
}

// All warps from `first_warp` of every block on: each lane looks a move up, then they copy them
// together. Of all moves, or of those that are not for the engine.
enum class Moves { all, not_for_engine };
__device__ inline void move_by_warps(const Args& args, const Shared& shared, int count,
                                     int first_warp, Moves moves) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32) - first_warp;
  const int num_warps = kWarps - first_warp;
  const int num_moves = count * args.tiles_per_row;
  const int stride = static_cast<int>(gridDim.x) * num_warps;
  int n = work_of_block(args) + warp * static_cast<int>(gridDim.x);
#pragma unroll 1
  for (; n < num_moves; n += 32 * stride) {
    Move move;
    if (n + lane * stride < num_moves) move = look_up(args, shared, count, n + lane * stride);
    const bool mine = move.num_segments > 0 && (moves == Moves::all || !is_for_engine(move));
    unsigned int left = __ballot_sync(~0U, mine);
#pragma unroll 1
    while (left != 0) {
      const int owner = __ffs(static_cast<int>(left)) - 1;
      left &= left - 1;
      copy_by_warp(from_lane(move, owner), lane);
    }
  }
}

}  // namespace hybridscope::fused
