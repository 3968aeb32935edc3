// The one kernel behind the fused align launches. Every block makes the decisions of all requests
// from their arrays, which is cheaper than passing them on in a second launch, and takes its share
// of the tiles of those that copy.
//
// With a bulk copy engine (sm_90) most tiles go through kStages buffers of shared memory, which one
// thread loads and stores while kProducers others look up what comes next. Tiles are taken in one
// global order, a stripe at a time, so that neighbouring blocks of a layer are moved at about the
// same time. Tile size and stages are the fastest found on an H200: 40 KiB of loads in flight per
// SM (docs/gpu.md has the figures). The other warps copy, by loads and stores, what the engine
// cannot: rows of a DS window that shift, and what is not aligned to 16 bytes. Without an engine
// all warps copy everything that way.
#pragma once

#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/engine_copy.cuh"
#include "kernels/cuda/fused_moves.cuh"
#include "kernels/cuda/warp_copy.cuh"

namespace hybridscope::fused {

// Tiles do not change, so that they may be fetched while the last kernel runs.
__device__ inline void prefetch_tiles(const Args& args) {
  constexpr int kLine = 128;
  const int size = args.tiles_per_row * static_cast<int>(sizeof(DeviceTile));
  const int thread = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  for (int at = thread * kLine; at < size; at += static_cast<int>(gridDim.x) * kThreads * kLine)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(reinterpret_cast<const char*>(args.tiles) + at));
}

// Decide has prepare(), which all threads of one block call before anything else; StateCopyDecision
// operator()(int row), which reads arrays that this launch does not write; publish(row, decision),
// called once per row. By::engine, where it moves everything, needs few registers, so that a launch
// that comes early finds room beside the kernel before it.
enum class By { engine, engine_and_warps };
template <class Decide, By kBy>
__global__ void __launch_bounds__(kThreads, kBy == By::engine ? 2 : 1)
    fused_copy(const __grid_constant__ Args args, const __grid_constant__ Decide decide) {
  extern __shared__ __align__(128) char stages[];
  __shared__ Shared shared;
  delay(args);
  prefetch_tiles(args);
#if __CUDA_ARCH__ >= 900
  if (kBy == By::engine || args.use_engine) prepare_engine(shared);
#endif
  wait_for_previous_kernel();
  const int count = find_copying_rows(args, decide, shared);
  if (count == 0) return;
#if __CUDA_ARCH__ >= 900
  if (kBy == By::engine || args.use_engine) {
    if (kBy == By::engine_and_warps) move_rest_by_warps(args, shared, count);
    run_by_engine(args, shared, stages, count);
    return;
  }
#endif
  move_by_warps(args, shared, count, 0, Moves::all);
}

}  // namespace hybridscope::fused
