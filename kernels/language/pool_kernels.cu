#include "kernels/language/pool_kernels.h"

#include <cuda_runtime.h>

#include "core/language/numeric_memory.h"
#include "kernels/cuda/cuda_check.h"

namespace hybridscope {
namespace {

constexpr int kThreads = 256;

__device__ void fill(float* block, std::int64_t count, float value) {
  for (std::int64_t i = threadIdx.x; i < count; i += kThreads) block[i] = value;
}

// A block of threads for each block in each layer.
__global__ void __launch_bounds__(kThreads)
    fill_blocks(const LayerPools* layers, const std::int32_t* blocks, float value) {
  const LayerPools layer = layers[blockIdx.y];
  const std::int64_t block = blocks[blockIdx.x];
  fill(layer.conv + block * layer.conv_stride, layer.conv_elements, value);
  fill(layer.temporal + block * layer.temporal_stride, layer.temporal_elements, value);
  fill(layer.keys + block * layer.kv_elements, layer.kv_elements, value);
  fill(layer.values + block * layer.kv_elements, layer.kv_elements, value);
}

// One state of a copy: `count` elements from `from` (null: poison), to `to`.
struct MovedState {
  const float* from = nullptr;
  float* to = nullptr;
  std::int64_t count = 0;
};

__device__ void move(const MovedState& state) {
  for (std::int64_t i = threadIdx.x; i < state.count; i += kThreads)
    state.to[i] = state.from == nullptr ? kPoisonFloat : state.from[i];
}

// A conv window inside one block, each channel by one thread: `first_position_first` as a copy that
// reads everything first would leave it.
__device__ void shift_window(float* window, const LayerPools& layer, std::int32_t bias,
                             bool first_position_first) {
  const auto dim = static_cast<std::int64_t>(layer.conv_dim);
  const std::int64_t positions = layer.conv_elements / dim;
  const std::int64_t moved = positions - min(static_cast<std::int64_t>(bias), positions);
  for (std::int64_t channel = threadIdx.x; channel < dim; channel += kThreads)
    for (std::int64_t k = 0; k < moved; ++k) {
      const std::int64_t position = first_position_first ? k : moved - 1 - k;
      window[position * dim + channel] = window[(position + bias) * dim + channel];
    }
}

// A block of threads for each copy in each layer.
__global__ void __launch_bounds__(kThreads)
    copy_states(const LayerPools* layers, const __grid_constant__ StateCopyLaunch launch) {
  const LayerPools layer = layers[blockIdx.y];
  const StateCopyOp copy = launch.copies.data()[blockIdx.x];
  if (layer.mamba_group != copy.group_index) return;
  const std::int64_t shift =
      min(static_cast<std::int64_t>(copy.accept_token_bias) * layer.conv_dim, layer.conv_elements);
  float* const window = layer.conv + copy.dst_block * layer.conv_stride;
  if (copy.conv_src_block == copy.dst_block && shift > 0)
    shift_window(window, layer, copy.accept_token_bias, !launch.shifts_last_position_first);
  else if (!launch.only_such_shifts)
    move({copy.conv_src_block < 0 ? nullptr
                                  : layer.conv + copy.conv_src_block * layer.conv_stride + shift,
          window, layer.conv_elements - shift});
  if (launch.only_such_shifts) return;
  const std::int64_t stride = layer.temporal_stride;
  move({copy.temporal_src_block < 0 ? nullptr : layer.temporal + copy.temporal_src_block * stride,
        layer.temporal + copy.dst_block * stride, layer.temporal_elements});
}

__global__ void __launch_bounds__(kThreads)
    copy_key_blocks(const LayerPools* layers, const BlockCopy* copies) {
  const LayerPools layer = layers[blockIdx.y];
  const BlockCopy copy = copies[blockIdx.x];
  if (layer.group != copy.group) return;
  const std::int64_t size = layer.kv_elements;
  move({layer.keys + copy.source_block * size, layer.keys + copy.block * size, size});
  move({layer.values + copy.source_block * size, layer.values + copy.block * size, size});
}

__global__ void __launch_bounds__(kThreads) gather_floats(const PlacedFloats* floats, float* out) {
  const PlacedFloats one = floats[blockIdx.x];
  move({one.place, out + one.offset, one.count});
}

__global__ void __launch_bounds__(kThreads)
    spread_floats(const PlacedFloats* floats, const float* in) {
  const PlacedFloats one = floats[blockIdx.x];
  move({in + one.offset, one.place, one.count});
}

// (items, layers)
dim3 grid_of(std::size_t items, std::size_t layers) {
  return dim3(static_cast<unsigned int>(items), static_cast<unsigned int>(layers));
}

}  // namespace

Status fill_blocks_cuda(std::span<const LayerPools> layers, std::span<const std::int32_t> blocks,
                        float value, CUstream_st* stream) {
  if (blocks.empty() || layers.empty()) return Ok{};
  fill_blocks<<<grid_of(blocks.size(), layers.size()), kThreads, 0, stream>>>(layers.data(),
                                                                              blocks.data(), value);
  return cuda_status(cudaGetLastError(), "launch of a fill of blocks");
}

Status copy_states_cuda(std::span<const LayerPools> layers, const StateCopyLaunch& launch,
                        CUstream_st* stream) {
  if (launch.copies.empty() || layers.empty()) return Ok{};
  copy_states<<<grid_of(launch.copies.size(), layers.size()), kThreads, 0, stream>>>(layers.data(),
                                                                                     launch);
  return cuda_status(cudaGetLastError(), "launch of copies of states");
}

Status copy_key_blocks_cuda(std::span<const LayerPools> layers, std::span<const BlockCopy> copies,
                            CUstream_st* stream) {
  if (copies.empty() || layers.empty()) return Ok{};
  copy_key_blocks<<<grid_of(copies.size(), layers.size()), kThreads, 0, stream>>>(layers.data(),
                                                                                  copies.data());
  return cuda_status(cudaGetLastError(), "launch of copies of keys and values");
}

Status gather_floats_cuda(std::span<const PlacedFloats> floats, float* out, CUstream_st* stream) {
  if (floats.empty()) return Ok{};
  gather_floats<<<static_cast<unsigned int>(floats.size()), kThreads, 0, stream>>>(floats.data(),
                                                                                   out);
  return cuda_status(cudaGetLastError(), "launch of kept floats");
}

Status spread_floats_cuda(std::span<const PlacedFloats> floats, const float* in,
                          CUstream_st* stream) {
  if (floats.empty()) return Ok{};
  spread_floats<<<static_cast<unsigned int>(floats.size()), kThreads, 0, stream>>>(floats.data(),
                                                                                   in);
  return cuda_status(cudaGetLastError(), "launch of floats that are put back");
}

}  // namespace hybridscope
