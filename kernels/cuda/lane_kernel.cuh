// How kernels are launched: bodies over items in tiles of lanes, and short kernels while the one
// before them still runs.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "core/base/math.h"
#include "core/base/result.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/launch_graph.h"

namespace hybridscope {

// Runs a body on the device: its items in tiles of lanes, one tile per block of threads. Any number
// of items and lanes: only the x dimension of the grid is used, and blocks loop.

inline constexpr int kTileThreads = 256;
inline constexpr std::int64_t kTileLanes = 2048;
inline constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;

struct TileGrid {
  std::int64_t num_tiles = 0;
  std::int64_t tiles_per_item = 1;
  LaunchOrder order;
};

// A multiplier that is coprime with the number of tiles is a permutation of them.
inline LaunchOrder usable(LaunchOrder order, std::int64_t num_tiles) {
  if (std::gcd(order.multiplier, num_tiles) != 1) order.multiplier = 1;
  return order;
}

inline TileGrid make_tile_grid(std::int64_t num_items, std::int64_t tiles_per_item,
                               LaunchOrder order) {
  const std::int64_t num_tiles = num_items * tiles_per_item;
  return {num_tiles, tiles_per_item, usable(order, num_tiles)};
}

inline unsigned num_blocks(const TileGrid& grid) {
  return static_cast<unsigned>(std::min(grid.num_tiles, kMostBlocks));
}

__device__ inline std::int64_t tile_at(const TileGrid& grid, std::int64_t i) {
  if (grid.order.delayed_every > 0 && i % grid.order.delayed_every == 0)
    for (int wait = 0; wait < 50; ++wait) __nanosleep(1000);
  if (grid.order.multiplier == 1) return i;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(i) *
                                   static_cast<std::uint64_t>(grid.order.multiplier) %
                                   static_cast<std::uint64_t>(grid.num_tiles));
}

template <class Body>
__global__ void __launch_bounds__(kTileThreads) run_lanes(const Body body, const TileGrid grid) {
  for (std::int64_t i = blockIdx.x; i < grid.num_tiles; i += gridDim.x) {
    const std::int64_t tile = tile_at(grid, i);
    const auto item = body.item(tile / grid.tiles_per_item);
    const std::int64_t first = tile % grid.tiles_per_item * kTileLanes;
    const std::int64_t end =
        first + kTileLanes < item.num_lanes ? first + kTileLanes : item.num_lanes;
    for (std::int64_t lane = first + threadIdx.x; lane < end; lane += kTileThreads) item(lane);
  }
}

// Loads kernels on the device, which otherwise happens at their first launch and makes it wait.
// Error: the device cannot run them.
template <class... Kernels>
Status load_kernels(int device, Kernels... kernels) {
  cudaError_t code = cudaSuccess;
  cudaFuncAttributes attributes;
  ((code = code == cudaSuccess ? cudaFuncGetAttributes(&attributes, kernels) : code), ...);
  return cuda_status(code, "cudaFuncGetAttributes", device);
}

// Error: the launch was refused. What goes wrong while it runs is reported by a later call.
template <class Body>
Status launch_lanes(const Body& body, std::int64_t num_items, const LaunchContext& context) {
  const TileGrid grid =
      make_tile_grid(num_items, cdiv(body.most_lanes(), kTileLanes), context.order);
  if (grid.num_tiles == 0) return Ok{};
  run_lanes<<<num_blocks(grid), kTileThreads, 0, context.stream>>>(body, grid);
  return cuda_status(cudaGetLastError(), "kernel launch", context.device);
}

// A short kernel is launched while the one before it on its stream still runs, and waits for it by
// itself (programmatic dependent launch of sm_90): launching costs as much as a few microseconds of
// its work. The order of a stream stays as it is.

// A kernel that is launched early calls it before it reads what others write, or writes.
__device__ inline void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

struct LaunchShape {
  dim3 grid;
  unsigned int threads = 0;
  std::size_t dynamic_bytes = 0;  // of shared memory
};

template <class... Parameters>
cudaError_t launch_early(void (*kernel)(Parameters...), const LaunchShape& shape,
                         cudaStream_t stream, const Parameters&... arguments) {
  int device = 0;
  int major = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const cudaError_t error =
          cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
      error != cudaSuccess)
    return error;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.dynamic_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = major >= 9 ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace hybridscope
