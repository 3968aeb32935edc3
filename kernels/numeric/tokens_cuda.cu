#include "kernels/numeric/tokens_cuda.h"

#include <cuda_runtime.h>

#include <limits>

#include "kernels/cuda/cuda_check.h"
#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope {
namespace {

using namespace numeric_cuda;

constexpr int kThreads = 256;

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
