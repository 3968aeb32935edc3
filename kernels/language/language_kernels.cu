#include <cuda_runtime.h>

#include <algorithm>

#include "core/language/numeric_memory.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/language/language_kernels.h"
#include "kernels/numeric/quick_exp.h"

namespace hybridscope {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 65535;

__device__ std::int64_t first_of_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}
__device__ std::int64_t num_threads() { return static_cast<std::int64_t>(gridDim.x) * kThreads; }

unsigned int blocks_for(std::int64_t elements) {
  return static_cast<unsigned int>(std::min((elements + kThreads - 1) / kThreads, kMostBlocks));
}

__global__ void __launch_bounds__(kThreads)
    split_columns(const __grid_constant__ ColumnSplit split, std::int64_t width) {
  for (std::int64_t i = first_of_thread(); i < split.num_rows * width; i += num_threads()) {
    const std::int64_t out_row = i / width;
    const std::int64_t column = i % width;
    const std::int64_t row = split.rows.empty() ? out_row : split.rows.data()[out_row];
    const float value = split.table.data()[row * split.stride + split.first + column];
    std::int64_t at = column;
#pragma unroll
    for (int o = 0; o < 4; ++o) {
      const ColumnSplit::Output& output = (&split.outputs[0])[o];
      if (at >= 0 && at < output.width) output.to.data()[out_row * output.width + at] = value;
      at -= output.width;
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    place_rows(const float* values, std::int64_t width, const std::int32_t* from, float* to,
               std::int64_t elements) {
  for (std::int64_t i = first_of_thread(); i < elements; i += num_threads()) {
    const std::int64_t row = from[i / width];
    to[i] = row < 0 ? 0.0F : values[row * width + i % width];
  }
}

__global__ void __launch_bounds__(kThreads)
    add(float* to, const float* change, std::int64_t size, std::int64_t elements) {
  for (std::int64_t i = first_of_thread(); i < elements; i += num_threads())
    to[i] += change[i % size];
}

__global__ void __launch_bounds__(kThreads)
    silu_product(float* gate, const float* up, std::int64_t elements) {
  for (std::int64_t i = first_of_thread(); i < elements; i += num_threads())
    gate[i] = quick_silu_f32(gate[i]) * up[i];
}

__global__ void __launch_bounds__(kThreads)
    sigma_gate(const __grid_constant__ GateColumns gate, float* o, std::int64_t elements) {
  for (std::int64_t i = first_of_thread(); i < elements; i += num_threads())
    o[i] *= quick_sigma_f32(
        gate.table.data()[i / gate.width * gate.stride + gate.first + i % gate.width]);
}

}  // namespace

Status split_columns_cuda(const ColumnSplit& split, CUstream_st* stream) {
  std::int64_t width = 0;
  for (const ColumnSplit::Output& output : split.outputs) width += output.width;
  if (split.num_rows * width == 0) return Ok{};
  split_columns<<<blocks_for(split.num_rows * width), kThreads, 0, stream>>>(split, width);
  return cuda_status(cudaGetLastError(), "launch of a split of columns");
}

Status place_rows_cuda(std::span<const float> values, std::int64_t width,
                       std::span<const std::int32_t> from, std::span<float> to,
                       CUstream_st* stream) {
  if (to.empty()) return Ok{};
  place_rows<<<blocks_for(std::ssize(to)), kThreads, 0, stream>>>(values.data(), width, from.data(),
                                                                  to.data(), std::ssize(to));
  return cuda_status(cudaGetLastError(), "launch of placed rows");
}

Status add_cuda(std::span<float> to, std::span<const float> change, CUstream_st* stream) {
  if (to.empty()) return Ok{};
  add<<<blocks_for(std::ssize(to)), kThreads, 0, stream>>>(to.data(), change.data(),
                                                           std::ssize(change), std::ssize(to));
  return cuda_status(cudaGetLastError(), "launch of a sum");
}

Status silu_product_cuda(std::span<float> gate, std::span<const float> up, CUstream_st* stream) {
  if (gate.empty()) return Ok{};
  silu_product<<<blocks_for(std::ssize(gate)), kThreads, 0, stream>>>(gate.data(), up.data(),
                                                                      std::ssize(gate));
  return cuda_status(cudaGetLastError(), "launch of a gated product");
}

Status sigma_gate_cuda(const GateColumns& gate, std::span<float> o, CUstream_st* stream) {
  if (o.empty()) return Ok{};
  sigma_gate<<<blocks_for(std::ssize(o)), kThreads, 0, stream>>>(gate, o.data(), std::ssize(o));
  return cuda_status(cudaGetLastError(), "launch of a gate");
}

namespace {

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
