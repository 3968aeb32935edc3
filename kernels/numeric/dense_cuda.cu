#include "kernels/numeric/dense_cuda.h"

#include <cuda_runtime.h>

#include <limits>

#include "kernels/cuda/device_memory.h"
#include "kernels/numeric/quick_exp.h"
#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope {

// Norms, a warp for each row or group of a row, and rotary positions.

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

// Products of weights with many tokens: a warp adds several outputs of several tokens at once, its
// lanes along the inputs.

namespace {

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

namespace {

__global__ void __launch_bounds__(kThreads)
    embed(const std::int32_t* token_ids, const float* embedding, std::int64_t hidden, float* x) {
  const std::int64_t token = blockIdx.x;
  const std::int64_t id = max(token_ids[token], 0);
  for (std::int64_t i = threadIdx.x; i < hidden; i += kThreads)
    x[token * hidden + i] = embedding[id * hidden + i];
}

struct Best {
  float logit = -std::numeric_limits<float>::infinity();
  std::int32_t index = std::numeric_limits<std::int32_t>::max();  // of no logit

  __device__ void take(const Best& other) {
    if (other.logit > logit || (other.logit == logit && other.index < index)) *this = other;
  }
};

__device__ Best best_of_warp(Best best) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    best.take({__shfl_xor_sync(kWholeWarp, best.logit, distance),
               __shfl_xor_sync(kWholeWarp, best.index, distance)});
  return best;
}

__global__ void __launch_bounds__(kThreads)
    pick_greedy(const float* logits, std::int32_t vocabulary, std::int32_t* token_ids) {
  __shared__ Best of_warps[kThreads / kWarp];
  const float* row = logits + static_cast<std::int64_t>(blockIdx.x) * vocabulary;
  Best best;
  for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < vocabulary; i += kThreads)
    best.take({row[i], i});
  best = best_of_warp(best);
  if (lane_of_thread() == 0) of_warps[threadIdx.x / kWarp] = best;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (const Best& other : of_warps) best.take(other);
  token_ids[blockIdx.x] = min(best.index, vocabulary - 1);
}

}  // namespace

Status embed_tokens_cuda(std::span<const std::int32_t> token_ids, std::span<const float> embedding,
                         std::span<float> x, CUstream_st* stream) {
  if (token_ids.empty()) return Ok{};
  const auto tokens = static_cast<unsigned int>(token_ids.size());
  embed<<<tokens, kThreads, 0, stream>>>(token_ids.data(), embedding.data(),
                                         std::ssize(x) / std::ssize(token_ids), x.data());
  return cuda_status(cudaGetLastError(), "launch of embeddings");
}

Status greedy_tokens_cuda(std::span<const float> logits, std::span<std::int32_t> token_ids,
                          CUstream_st* stream) {
  if (token_ids.empty()) return Ok{};
  const auto vocabulary = static_cast<std::int32_t>(std::ssize(logits) / std::ssize(token_ids));
  pick_greedy<<<static_cast<unsigned int>(token_ids.size()), kThreads, 0, stream>>>(
      logits.data(), vocabulary, token_ids.data());
  return cuda_status(cudaGetLastError(), "launch of greedy tokens");
}

}  // namespace hybridscope
