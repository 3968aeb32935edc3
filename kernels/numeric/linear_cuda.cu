// Products of weights with many tokens: a warp adds several outputs of several tokens at once, its
// lanes along the inputs.
#include <cuda_runtime.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/numeric/dense_cuda.h"
#include "kernels/numeric/quick_exp.h"
#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope {
namespace {

using namespace numeric_cuda;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

struct LinearTask {
  LinearShape shape;
  const float* weight = nullptr;
  const float* up = nullptr;  // of a gated product, else not read
  const float* x = nullptr;
  float* y = nullptr;
};

// kOutputs x kTokens sums of a warp; gated: of two weights, whose outputs meet in silu(gate) * up.
template <int kOutputs, int kTokens, bool kGated>
__global__ void __launch_bounds__(kThreads) linear_warps(const LinearTask task) {
  constexpr int kWeights = kGated ? 2 : 1;
  constexpr int kSums = kOutputs * kTokens * kWeights;
  const int lane = lane_of_thread();
  const int inputs = task.shape.inputs;
  const int first_output = static_cast<int>(blockIdx.x * kWarps + threadIdx.x / kWarp) * kOutputs;
  const int first_token = static_cast<int>(blockIdx.y) * kTokens;
  if (first_output >= task.shape.outputs) return;
  // Sums beyond the shape are those of its last output and token, and are not written.
  const float* weights[kWeights][kOutputs];
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    const std::int64_t at =
        static_cast<std::int64_t>(min(first_output + o, task.shape.outputs - 1)) * inputs;
    weights[0][o] = task.weight + at;
    if constexpr (kGated) weights[1][o] = task.up + at;
  }
  const float* tokens[kTokens];
#pragma unroll
  for (int t = 0; t < kTokens; ++t)
    tokens[t] = task.x +
                static_cast<std::int64_t>(min(first_token + t, task.shape.num_tokens - 1)) * inputs;
  float sums[kSums] = {};  // [weights, outputs, tokens]
#pragma unroll 2
  for (int i = lane; i < inputs; i += kWarp) {
    float x[kTokens];
#pragma unroll
    for (int t = 0; t < kTokens; ++t) x[t] = __ldg(tokens[t] + i);
#pragma unroll
    for (int w = 0; w < kWeights; ++w)
#pragma unroll
      for (int o = 0; o < kOutputs; ++o) {
        const float weight = __ldg(weights[w][o] + i);
#pragma unroll
        for (int t = 0; t < kTokens; ++t) sums[(w * kOutputs + o) * kTokens + t] += weight * x[t];
      }
  }
  float total = RowSums<kSums, 1>::total(sums, lane);
  const int sum = RowSums<kSums, 1>::own(lane);
  if constexpr (kGated) {
    const float up = __shfl_down_sync(kWholeWarp, total, kWarp / 2);
    total = quick_silu_f32(total) * up;
  }
  const int output = first_output + sum / kTokens;
  const int token = first_token + sum % kTokens;
  if (lane == RowSums<kSums, 1>::thread_of(lane, sum) && sum < kOutputs * kTokens &&
      output < task.shape.outputs && token < task.shape.num_tokens)
    task.y[static_cast<std::int64_t>(token) * task.shape.outputs + output] = total;
}

template <int kOutputs, int kTokens, bool kGated>
Status launch(const LinearTask& task, CUstream_st* stream) {
  const LinearShape& shape = task.shape;
  if (shape.outputs == 0 || shape.num_tokens == 0) return Ok{};
  const auto groups = [](std::int32_t count, int size) {
    return static_cast<unsigned int>((count + size - 1) / size);
  };
  const unsigned int tokens = groups(shape.num_tokens, kTokens);
  if (tokens > 65535)
    return invalid_input("a product of " + std::to_string(shape.num_tokens) +
                         " tokens; kernels take up to " + std::to_string(65535 * kTokens));
  linear_warps<kOutputs, kTokens, kGated>
      <<<dim3(groups(shape.outputs, kOutputs * kWarps), tokens), kThreads, 0, stream>>>(task);
  return cuda_status(cudaGetLastError(), "launch of a product");
}

// With few tokens more warps run where each takes one token.
constexpr std::int32_t kFewTokens = 2;

}  // namespace

Status linear_cuda(const LinearShape& shape, std::span<const float> weight,
                   std::span<const float> x, std::span<float> y, CUstream_st* stream) {
  const LinearTask task{shape, weight.data(), nullptr, x.data(), y.data()};
  return shape.num_tokens <= kFewTokens ? launch<4, 1, false>(task, stream)
                                        : launch<4, 8, false>(task, stream);
}

Status gated_mlp_cuda(const GatedMlp& mlp, std::int32_t num_tokens, std::span<const float> x,
                      std::span<float> between, std::span<float> y, CUstream_st* stream) {
  if (num_tokens == 0 || mlp.inner == 0)
    return cuda_status(cudaMemsetAsync(y.data(), 0, y.size_bytes(), stream), "cudaMemsetAsync");
  const LinearShape in{num_tokens, static_cast<std::int32_t>(std::ssize(x)) / num_tokens,
                       mlp.inner};
  const LinearTask task{in, mlp.gate.data(), mlp.up.data(), x.data(), between.data()};
  if (Status status = num_tokens <= kFewTokens ? launch<2, 1, true>(task, stream)
                                               : launch<2, 8, true>(task, stream);
      !status)
    return status;
  const LinearShape out{num_tokens, mlp.inner,
                        static_cast<std::int32_t>(std::ssize(y)) / num_tokens};
  return linear_cuda(out, mlp.down, between, y, stream);
}

}  // namespace hybridscope
