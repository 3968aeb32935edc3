#include "kernels/numeric/arithmetic_cuda.h"

#include <cuda_runtime.h>

#include <bit>

#include "kernels/cuda/device_memory.h"
#include "kernels/numeric/pool_rows.cuh"
#include "kernels/numeric/quick_exp.h"
#include "kernels/numeric/quick_silu_bf16.cuh"
#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope {
namespace {

using namespace numeric_cuda;

constexpr int kThreads = 256;

__device__ float value_of(NumericFunction function, float x) {
  switch (function) {
    case NumericFunction::exp: return quick_exp_f32(x);
    case NumericFunction::softplus: return quick_softplus_f32(x);
    case NumericFunction::sigma: return quick_sigma_f32(x);
    case NumericFunction::silu: return quick_silu_f32(x);
  }
  return 0.0F;
}

__global__ void __launch_bounds__(kThreads)
    apply(NumericFunction function, const float* x, float* y, std::int64_t size) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < size) y[i] = value_of(function, x[i]);
}

// A warp for each row.
__global__ void __launch_bounds__(kThreads)
    dots(const float* a, const float* b, float* y, std::int64_t num_rows, std::int64_t n) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (row >= num_rows) return;
  float sum = 0;
  for (std::int64_t i = lane_of_thread(); i < n; i += kWarp) sum += a[row * n + i] * b[row * n + i];
  const float total = sum_of_lanes(sum);
  if (lane_of_thread() == 0) y[row] = total;
}

__device__ bool differ(float quick, float exact) {
  const bool both_nan = quick != quick && exact != exact;
  return std::bit_cast<std::uint32_t>(quick) != std::bit_cast<std::uint32_t>(exact) && !both_nan;
}

__global__ void __launch_bounds__(kThreads) compare_all(unsigned long long* num_different) {
  const std::uint32_t first = blockIdx.x * kThreads + threadIdx.x;
  unsigned long long different = 0;
  for (std::uint64_t bits = first; bits < std::uint64_t{1} << 32;
       bits += static_cast<std::uint64_t>(gridDim.x) * kThreads) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (differ(quick_exp_f32(x), exp_f32(x))) ++different;
    if (differ(quick_softplus_f32(x), softplus_f32(x))) ++different;
    const float silu = to_float(from_float<Bf16>(silu_f32(x)));
    float quick_silu[1] = {x};
    quick_silu_for_bf16(quick_silu);
    if (differ(to_float(from_float<Bf16>(quick_silu[0])), silu)) ++different;
  }
  if (different > 0) atomicAdd(num_different, different);
}

unsigned int blocks_of(std::int64_t threads) {
  return static_cast<unsigned int>((threads + kThreads - 1) / kThreads);
}

}  // namespace

Status apply_cuda(NumericFunction function, std::span<const float> x, std::span<float> y,
                  CUstream_st* stream) {
  if (y.empty()) return Ok{};
  apply<<<blocks_of(std::ssize(y)), kThreads, 0, stream>>>(function, x.data(), y.data(),
                                                           std::ssize(y));
  return cuda_status(cudaGetLastError(), "launch of a function");
}

Status dots_cuda(std::span<const float> a, std::span<const float> b, std::span<float> y,
                 CUstream_st* stream) {
  if (y.empty()) return Ok{};
  dots<<<blocks_of(std::ssize(y) * kWarp), kThreads, 0, stream>>>(
      a.data(), b.data(), y.data(), std::ssize(y), std::ssize(a) / std::ssize(y));
  return cuda_status(cudaGetLastError(), "launch of ordered sums");
}

Status compare_quick_functions_cuda(std::uint64_t* num_different, CUstream_st* stream) {
  compare_all<<<4096, kThreads, 0, stream>>>(reinterpret_cast<unsigned long long*>(num_different));
  return cuda_status(cudaGetLastError(), "launch of the comparison of quick functions");
}

}  // namespace hybridscope
