// The convolution of decode rows without counts, where channels are whole pieces of the copy engine
// of sm_90: the engine brings windows and inputs to shared memory and takes the new windows from
// there to their blocks; threads only compute outputs. A block of threads has a slice of the
// channels of some rows, asks for all of them at once and loads its weights once.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/device_memory.h"
#include "kernels/numeric/conv_rows.cuh"
#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope::numeric_cuda {

inline constexpr int kStagedThreads = 512;
inline constexpr int kStagedChannels = 4;    // of a thread
inline constexpr int kStagedConvBlocks = 2;  // of a multiprocessor
inline constexpr std::size_t kStagedConvBytes = 112 * 1024;
inline constexpr int kMostStagedRows = 24;

// What a block of threads takes.
struct StagedShape {
  int rows = 0;
  int channels = 0;
};

template <int kWidth, class T>
class StagedConv {
 public:
  using Task = ConvTask<PlainTokens<T>, DecodeRows>;
  struct Head {
    std::uint64_t barriers[kMostStagedRows];
    ConvRow<T> rows[kMostStagedRows];
  };
  static constexpr std::size_t kHeadBytes = (sizeof(Head) + 127) / 128 * 128;
  // A row takes its window of W - 1 positions and its token behind it, so that the new window lies
  // there in one piece too.
  static constexpr std::size_t row_bytes(int channels) {
    return static_cast<std::size_t>(kWidth * channels) * sizeof(T);
  }

  __device__ StagedConv(char* memory, const Task& task, const StagedShape& shape)
      : head_(reinterpret_cast<Head*>(memory)),
        windows_(reinterpret_cast<T*>(memory + kHeadBytes)),
        task_(task),
        shape_(shape),
        first_channel_(static_cast<int>(blockIdx.y) * shape.channels),
        bytes_(static_cast<std::uint32_t>(min(shape.channels, task.layer.dim - first_channel_) *
                                          static_cast<int>(sizeof(T)))) {}

  __device__ const ConvRow<T>& row(int i) const { return head_->rows[i]; }
  // The others are convolved by the threads alone: padding, and rows of several tokens.
  __device__ static bool is_staged(const ConvRow<T>& row) {
    return row.from != nullptr && row.tokens.size() == 1;
  }
  // Position p of row i, in the block's channels.
  __device__ T* position(int i, int p) const {
    return windows_ + (i * kWidth + p) * shape_.channels;
  }

  // By one thread: asks for row i.
  __device__ void begin(int i, const ConvRow<T>& row) const {
    head_->rows[i] = row;
    if (!is_staged(row)) return;
    std::uint64_t* barrier = &head_->barriers[i];
    bulk::init(barrier);
    bulk::fence_init();
    bulk::arrive_expecting(barrier, kWidth * bytes_);
    const std::int64_t dim = task_.layer.dim;
    bulk::load(position(i, kWidth - 1), task_.tokens.x + row.tokens.first * dim + first_channel_,
               bytes_, barrier);
#pragma unroll
    for (int p = 0; p < kWidth - 1; ++p)
      bulk::load(position(i, p), row.from + p * dim + first_channel_, bytes_, barrier);
  }
  __device__ void wait(int i) const { bulk::wait(&head_->barriers[i], 0); }
  // By one thread: the new window goes to its block.
  __device__ void store(int i) const {
    if (row(i).to == nullptr) return;
#pragma unroll
    for (int p = 0; p < kWidth - 1; ++p)
      bulk::store(row(i).to + static_cast<std::int64_t>(p) * task_.layer.dim + first_channel_,
                  position(i, p + 1), bytes_);
    bulk::commit();
  }

 private:
  Head* head_;
  T* windows_;
  const Task& task_;
  const StagedShape& shape_;
  std::int32_t first_channel_;
  std::uint32_t bytes_;  // of a position
};

// A grid is [groups of rows; slices of channels]; the last group has the tokens behind the rows
// too.
template <int kWidth, class T>
__global__ void __launch_bounds__(kStagedThreads, kStagedConvBlocks)
    conv_staged(const __grid_constant__ ConvTask<PlainTokens<T>, DecodeRows> task,
                const __grid_constant__ StagedShape shape) {
#if __CUDA_ARCH__ >= 900
  using Position = Channels<T, kStagedChannels>;
  using Staged = StagedConv<kWidth, T>;
  constexpr int kWarps = kStagedThreads / kWarp;
  extern __shared__ __align__(128) char memory[];
  const Staged staged(memory, task, shape);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = lane_of_thread();
  const int own = static_cast<int>(threadIdx.x) * kStagedChannels;
  const std::int32_t channel = static_cast<int>(blockIdx.y) * shape.channels + own;
  const bool has_channels = own < shape.channels && channel < task.layer.dim;
  const std::int32_t first_row = static_cast<int>(blockIdx.x) * shape.rows;
  const std::int32_t num_rows = min(shape.rows, task.rows.num_rows() - first_row);
  // No kernel writes weights.
  const ConvWeights<kWidth, kStagedChannels> weights(task.layer, has_channels ? channel : 0);
  wait_for_previous_kernel();
  if (const int i = lane * kWarps + warp; i < num_rows)
    staged.begin(i, conv_row(task, first_row + i));
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < num_rows; ++i) {
    const ConvRow<T>& row = staged.row(i);
    ConvWindow<kWidth, kStagedChannels, T> window;
    if (Staged::is_staged(row)) {
      staged.wait(i);
      if (i % kWarps == warp && lane == 0) staged.store(i);
      if (!has_channels) continue;
      window.begin(staged.position(i, 0) + own, shape.channels, kWidth - 1);
      float sums[kStagedChannels];
      window.convolve(
          weights, *reinterpret_cast<const Position*>(staged.position(i, kWidth - 1) + own), sums);
      task.tokens.template output<kStagedChannels>(row.tokens.first, channel, sums,
                                                   task.layer.activation);
    } else if (has_channels && row.tokens.size() > 0) {
      if (row.from != nullptr) window.begin(row.from + channel, task.layer.dim, kWidth - 1);
      const Position first[1] = {
          task.tokens.template input<kStagedChannels>(row.tokens.first, channel)};
      convolve_row<false, false>(task, row, channel, weights, window, first);
    }
  }
  if (first_row + shape.rows >= task.rows.num_rows() && has_channels)
    zero_tokens<kStagedChannels>(task.tokens, end_of_rows(task.rows), task.num_tokens, channel);
  if (lane == 0) bulk::wait_read<0>();
#endif
}

// Which convolutions conv_staged takes, and how its blocks of threads share them.

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
