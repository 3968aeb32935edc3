// Which convolutions conv_staged takes, and how its blocks of threads share them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/cuda_check.h"
#include "kernels/numeric/conv_staged.cuh"

namespace hybridscope::numeric_cuda {

inline constexpr std::int32_t kStagedWidth = 4;

// An attribute of the current device; 0: not known.
inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 0;
  return cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess ? value : 0;
}

// Has this build the kernel's code for the device (code for older ones is empty), and the device
// its shared memory?
template <class T>
bool has_staged_kernel() {
  cudaFuncAttributes kernel{};
  return cudaFuncGetAttributes(&kernel, conv_staged<kStagedWidth, T>) == cudaSuccess &&
         kernel.ptxVersion >= 90 &&
         device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) >=
             static_cast<int>(kStagedConvBytes);
}

// Can it run here, and are all addresses and sizes multiples of the engine's pieces?
template <class T>
bool can_stage_conv(const ConvTask<PlainTokens<T>, DecodeRows>& task) {
  const auto is_whole = [](std::int64_t bytes) { return bytes % 16 == 0; };
  const auto begins_whole = [&](const T* data) {
    return is_whole(reinterpret_cast<std::intptr_t>(data));
  };
  const auto size = static_cast<std::int64_t>(sizeof(T));
  return task.rows.num_accepted_tokens.empty() && task.layer.width == kStagedWidth &&
         task.layer.dim > 0 && task.rows.num_rows() > 0 && is_whole(task.layer.dim * size) &&
         is_whole(task.pool.block_elements * size) && begins_whole(task.pool.data) &&
         begins_whole(task.tokens.x) && has_staged_kernel<T>();
}

// Slices of about the same size, and rows such that all blocks run at once where shared memory
// allows it.
template <class Staged>
StagedShape staged_shape(std::int32_t dim, std::int32_t num_rows) {
  constexpr int kPiece = 8;  // channels
  constexpr int kMostChannels = kStagedThreads * kStagedChannels;
  const int slices = (dim + kMostChannels - 1) / kMostChannels;
  const int channels = (dim + slices * kPiece - 1) / (slices * kPiece) * kPiece;
  const int room =
      static_cast<int>((kStagedConvBytes - Staged::kHeadBytes) / Staged::row_bytes(channels));
  const int blocks = device_attribute(cudaDevAttrMultiProcessorCount) * kStagedConvBlocks;
  const int groups = std::max(1, blocks / slices);
  return {std::min({(num_rows + groups - 1) / groups, room, kMostStagedRows}), channels};
}

// Requires can_stage_conv(task).
template <class T>
Status launch_conv_staged(const ConvTask<PlainTokens<T>, DecodeRows>& task, CUstream_st* stream) {
  using Staged = StagedConv<kStagedWidth, T>;
  const auto kernel = conv_staged<kStagedWidth, T>;
  const StagedShape shape = staged_shape<Staged>(task.layer.dim, task.rows.num_rows());
  if (Status status =
          cuda_status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(kStagedConvBytes)),
                      "shared memory of a convolution");
      !status)
    return status;
  const std::size_t bytes =
      Staged::kHeadBytes + static_cast<std::size_t>(shape.rows) * Staged::row_bytes(shape.channels);
  const auto parts = [](int size, int part) {
    return static_cast<unsigned int>((size + part - 1) / part);
  };
  const dim3 grid{parts(task.rows.num_rows(), shape.rows), parts(task.layer.dim, shape.channels),
                  1};
  return cuda_status(launch_early(kernel, {grid, kStagedThreads, bytes}, stream, task, shape),
                     "launch of a convolution");
}

}  // namespace hybridscope::numeric_cuda
