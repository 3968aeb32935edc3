#include "kernels/language/column_kernels.h"

#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/cuda/cuda_check.h"
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

}  // namespace hybridscope
