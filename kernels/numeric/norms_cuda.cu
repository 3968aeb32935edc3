// Norms, a warp for each row or group of a row, and rotary positions.
#include <cuda_runtime.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/numeric/dense_cuda.h"
#include "kernels/numeric/quick_exp.h"
#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope {
namespace {

using namespace numeric_cuda;

constexpr int kThreads = 256;

enum class Gated : std::uint8_t { no, before, silu_behind, sigma_behind };

struct NormTask {
  RmsNorm norm;
  const float* x = nullptr;
  const float* z = nullptr;
  float* y = nullptr;
  std::int64_t num_parts = 0;  // rows times groups
  std::int32_t groups = 1;
  std::int32_t n = 0;  // of a part
};

__device__ float weighted(const RmsNorm& norm, std::int32_t i, float scaled) {
  const float weight = norm.weight[static_cast<std::size_t>(i)];
  return norm.kind == NormWeight::plus_one ? scaled * (1.0F + weight) : weight * scaled;
}

template <Gated kGated>
__global__ void __launch_bounds__(kThreads) norm_parts(const __grid_constant__ NormTask task) {
  const std::int64_t part =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (part >= task.num_parts) return;
  const std::int64_t at = part * task.n;
  const std::int32_t first_weight = static_cast<std::int32_t>(part % task.groups) * task.n;
  float squares = 0;
  for (std::int32_t i = lane_of_thread(); i < task.n; i += kWarp) {
    float x = task.x[at + i];
    if constexpr (kGated == Gated::before) {
      x *= quick_silu_f32(task.z[at + i]);
      task.y[at + i] = x;  // read again below, by the same lane
    }
    squares += x * x;
  }
  const float mean = sum_of_lanes(squares) / static_cast<float>(task.n);
  const float scale = rsqrt_f32(mean + task.norm.eps);
  for (std::int32_t i = lane_of_thread(); i < task.n; i += kWarp) {
    const float x = kGated == Gated::before ? task.y[at + i] : task.x[at + i];
    float y = weighted(task.norm, first_weight + i, x * scale);
    if constexpr (kGated == Gated::silu_behind) y *= quick_silu_f32(task.z[at + i]);
    if constexpr (kGated == Gated::sigma_behind) y *= quick_sigma_f32(task.z[at + i]);
    task.y[at + i] = y;
  }
}

template <Gated kGated>
Status launch(const RmsNorm& norm, std::int32_t groups, std::span<const float> x,
              std::span<const float> z, std::span<float> y, CUstream_st* stream) {
  const std::int64_t n = groups > 0 ? std::ssize(norm.weight) / groups : 0;
  if (x.empty() || n == 0) return Ok{};
  const NormTask task{
      norm, x.data(), z.data(), y.data(), std::ssize(x) / n, groups, static_cast<std::int32_t>(n)};
  constexpr std::int64_t kWarps = kThreads / kWarp;
  const auto blocks = static_cast<unsigned int>((task.num_parts + kWarps - 1) / kWarps);
  norm_parts<kGated><<<blocks, kThreads, 0, stream>>>(task);
  return cuda_status(cudaGetLastError(), "launch of a norm");
}

__global__ void __launch_bounds__(kThreads)
    turn_pairs(const __grid_constant__ RopeTokens tokens, float* heads, std::int64_t num_pairs) {
  const std::int64_t pair = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (pair >= num_pairs) return;
  const std::int32_t half = tokens.rotary_dim / 2;
  const std::int64_t head = pair / half;
  const auto i = static_cast<std::int32_t>(pair % half);
  const auto token = static_cast<std::size_t>(head / tokens.num_heads);
  const std::int64_t at = static_cast<std::int64_t>(tokens.positions[token]) * half + i;
  const float cosine = tokens.cosines[static_cast<std::size_t>(at)];
  const float sine = tokens.sines[static_cast<std::size_t>(at)];
  float* first = heads + head * tokens.head_dim + i;
  const float low = first[0];
  const float high = first[half];
  first[0] = low * cosine - high * sine;
  first[half] = high * cosine + low * sine;
}

}  // namespace

Status rms_norm_cuda(const RmsNorm& norm, std::span<const float> x, std::span<float> y,
                     CUstream_st* stream) {
  return launch<Gated::no>(norm, 1, x, {}, y, stream);
}

Status gated_norm_cuda(const RmsNorm& norm, std::int32_t groups, std::span<const float> x,
                       std::span<const float> z, std::span<float> y, CUstream_st* stream) {
  return launch<Gated::before>(norm, groups, x, z, y, stream);
}

Status norm_gated_cuda(const RmsNorm& norm, OutputGate gate, std::span<const float> x,
                       std::span<const float> z, std::span<float> y, CUstream_st* stream) {
  return gate == OutputGate::silu ? launch<Gated::silu_behind>(norm, 1, x, z, y, stream)
                                  : launch<Gated::sigma_behind>(norm, 1, x, z, y, stream);
}

Status rope_cuda(const RopeTokens& tokens, std::span<float> heads, CUstream_st* stream) {
  const std::int64_t pairs =
      std::ssize(tokens.positions) * tokens.num_heads * (tokens.rotary_dim / 2);
  if (pairs == 0) return Ok{};
  const auto blocks = static_cast<unsigned int>((pairs + kThreads - 1) / kThreads);
  turn_pairs<<<blocks, kThreads, 0, stream>>>(tokens, heads.data(), pairs);
  return cuda_status(cudaGetLastError(), "launch of rotary positions");
}

}  // namespace hybridscope
