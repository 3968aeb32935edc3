// Launches of form chunked, whatever the layer.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "kernels/cuda/cuda_check.h"
#include "kernels/numeric/chunk_pieces.cuh"
#include "kernels/numeric/chunk_prepare.cuh"
#include "kernels/numeric/chunk_walk.cuh"
#include "kernels/numeric/chunked_cuda.h"

namespace hybridscope::numeric_cuda {

template <class Task>
Status launch_chunk_kernel(void (*kernel)(Task), const Task& task, const dim3& grid, int threads,
                           std::size_t floats, CUstream_st* stream) {
  const std::size_t bytes = floats * sizeof(float);
  if (Status status = cuda_status(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                       static_cast<int>(bytes)),
                                  "shared memory of chunks");
      !status)
    return status;
  kernel<<<grid, static_cast<unsigned int>(threads), bytes, stream>>>(task);
  return cuda_status(cudaGetLastError(), "launch of chunks");
}

// Shared memory that a block of the current device may have.
inline Result<std::size_t> most_shared_bytes() {
  int device = 0;
  int bytes = 0;
  if (const Status status = cuda_status(cudaGetDevice(&device), "cudaGetDevice"); !status)
    return status.error();
  if (const Status status = cuda_status(
          cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
          "cudaDeviceGetAttribute");
      !status)
    return status.error();
  return static_cast<std::size_t>(bytes);
}

// The launches of a call: outputs to zero, pieces, what needs no state, the walk. `Walk`:
// the kernel of one layer, by kind and padded keys.
template <ChunkKind kKind, template <ChunkKind, int> class Walk, class Chunks, class Task>
class ChunkLaunches {
 public:
  ChunkLaunches(const PrepareTask& prepare, const Task& walk, const Chunks& chunks,
                std::int64_t num_outputs, CUstream_st* stream)
      : prepare_(prepare),
        walk_(walk),
        chunks_(chunks),
        num_outputs_(num_outputs),
        stream_(stream) {}

  Status launch() const {
    const WalkTask& task = walk_.task;
    if (num_outputs_ > 0) {
      const auto bytes = static_cast<std::size_t>(num_outputs_) * sizeof(float);
      if (Status status =
              cuda_status(cudaMemsetAsync(task.o, 0, bytes, stream_), "cudaMemsetAsync of outputs");
          !status)
        return status;
    }
    if (task.num_pieces > 0) {
      cut_pieces<<<1, kCutThreads, 0, stream_>>>(chunks_, task.scratch.pieces, task.num_pieces);
      if (Status status = cuda_status(cudaGetLastError(), "launch of chunks"); !status)
        return status;
    }
    switch (padded_keys(task.sizes.key_dim)) {
      case 32:
        return launch_padded<32>();
      case 64:
        return launch_padded<64>();
      case 128:
        return launch_padded<128>();
      default:
        return launch_padded<256>();
    }
  }

 private:
  template <int kKeys>
  Status launch_padded() const {
    const WalkTask& task = walk_.task;
    const auto heads = static_cast<unsigned int>(task.sizes.value_heads);
    if (task.num_pieces > 0) {
      const dim3 grid(static_cast<unsigned int>(task.num_pieces), heads);
      if (Status status =
              launch_chunk_kernel(&prepare_pieces<kKind, kKeys>, prepare_, grid, kPrepareThreads,
                                  PreparedPiece<kKind, kKeys>::kFloats, stream_);
          !status)
        return status;
    }
    const auto parts =
        static_cast<unsigned int>((task.sizes.value_dim + kPartRows - 1) / kPartRows);
    const auto rows = task.in_turn ? 1U : static_cast<unsigned int>(task.rows.num_rows());
    if (rows == 0) return Ok{};
    auto most_bytes = most_shared_bytes();
    if (!most_bytes) return most_bytes.error();
    // Two blocks of an SM hide each other's loads as well, where one piece leaves room for both.
    const std::size_t two_pieces = StateWalk<kKind, kKeys>::floats(true);
    Task walk = walk_;
    walk.task.loads_ahead = is_delta(kKind) && two_pieces * sizeof(float) <= most_bytes.value();
    return launch_chunk_kernel(Walk<kKind, kKeys>::kernel(), walk, dim3(parts * rows, heads),
                               kWalkThreads, StateWalk<kKind, kKeys>::floats(walk.task.loads_ahead),
                               stream_);
  }

  const PrepareTask& prepare_;
  const Task& walk_;
  const Chunks& chunks_;
  std::int64_t num_outputs_;
  CUstream_st* stream_;
};

// Error: a size that no kernel takes; scratch that is not aligned, or less than the pieces need.
inline Status expect_chunk_sizes(const ChunkSizes& sizes, const ChunkLaunch& launch,
                                 std::int64_t floats_of_piece) {
  if (sizes.key_dim > kMostKeys)
    return invalid_input("a state of " + std::to_string(sizes.key_dim) +
                         " elements a row; kernels take up to " + std::to_string(kMostKeys));
  const std::int64_t needed = launch.num_pieces * floats_of_piece;
  if (static_cast<std::int64_t>(launch.scratch.size()) < needed)
    return invalid_input("scratch of " + std::to_string(launch.scratch.size()) +
                         " floats for chunks that need " + std::to_string(needed));
  if (reinterpret_cast<std::uintptr_t>(launch.scratch.data()) % 16 != 0)
    return invalid_input("scratch for chunks that does not begin at a multiple of 16 bytes");
  return Ok{};
}

}  // namespace hybridscope::numeric_cuda
