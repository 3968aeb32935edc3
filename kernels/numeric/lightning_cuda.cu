// The state is read out along its first index: a lane keeps a column in shared memory and adds all
// lanes of OrderedSum by itself.
#include <cuda_runtime.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/numeric/quick_exp.h"
#include "kernels/numeric/recurrences_cuda.h"
#include "kernels/numeric/row_walks.cuh"
#include "kernels/numeric/state_elements.cuh"
#include "kernels/numeric/thread_sums.cuh"
#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope {
namespace {

using namespace numeric_cuda;

constexpr std::int32_t kMostDimensions = 1024;

template <class Rows>
struct LightningTask {
  LightningLayer layer;
  Rows rows;
  DevicePool<float> pool;
  LightningTokens io;
  std::int32_t num_tokens = 0;
};

// One column of a head: element i at column[kWarp * i].
class Column {
 public:
  __device__ Column(float* slab, int lane, std::int32_t size) : values_(slab + lane), size_(size) {}

  // `head`: the column in a block, elements `size` apart; null: zeros.
  __device__ void load(const float* head) {
    for (std::int32_t i = 0; i < size_; ++i)
      values_[kWarp * i] = head == nullptr ? 0.0F : head[static_cast<std::int64_t>(i) * size_];
  }
  __device__ void store(float* head) const {
    for (std::int32_t i = 0; i < size_; ++i)
      head[static_cast<std::int64_t>(i) * size_] = values_[kWarp * i];
  }
  __device__ float fold(float ratio, const float* q, const float* k, float v) {
    float lanes[kWarp] = {};
    for (std::int32_t first = 0; first < size_; first += kWarp)
#pragma unroll
      for (int lane = 0; lane < kWarp; ++lane)
        if (const std::int32_t i = first + lane; i < size_) {
          const float value = values_[kWarp * i] * ratio + __ldg(k + i) * v;
          values_[kWarp * i] = value;
          lanes[lane] += __ldg(q + i) * value;
        }
    return total_of_lanes(lanes);
  }

 private:
  float* values_;
  std::int32_t size_;
};

// A warp for 32 columns of each row's heads, and of the tokens behind the rows.
template <class Rows>
__global__ void __launch_bounds__(kWarp)
    fold_columns(const __grid_constant__ LightningTask<Rows> task) {
  extern __shared__ float slab[];  // [D, 32]
  const std::int32_t D = task.layer.head_dim;
  const int parts = (D + kWarp - 1) / kWarp;
  const int units = parts * task.layer.num_heads;
  const int row = static_cast<int>(blockIdx.x) / units;
  const int head = static_cast<int>(blockIdx.x) % units / parts;
  const std::int32_t j = static_cast<int>(blockIdx.x) % parts * kWarp + lane_of_thread();
  if (j >= D) return;  // lanes do not meet
  const auto at = [&](std::int32_t token) {
    return (static_cast<std::int64_t>(token) * task.layer.num_heads + head) * D;
  };
  const auto zero = [&](std::int32_t first, std::int32_t last) {
    for (std::int32_t token = first; token < last; ++token) task.io.o[at(token) + j] = 0.0F;
  };
  if (row == task.rows.num_rows()) return zero(end_of_rows(task.rows), task.num_tokens);
  RowWalk<Rows> walk(task.rows, row, true);
  const BatchTokens tokens = walk.tokens();
  if (!walk.runs()) return zero(tokens.first, tokens.last);

  const std::int64_t offset = static_cast<std::int64_t>(head) * D * D + j;
  Column column(slab, lane_of_thread(), D);
  column.load(is_state_block(walk.source()) ? task.pool.block(walk.source()) + offset : nullptr);
  const float ratio = quick_exp_f32(-task.layer.rate[head]);
  for (std::int32_t t = 0; t < tokens.size(); ++t) {
    const std::int64_t token = at(tokens.first + t);
    task.io.o[token + j] = column.fold(ratio, task.io.q.data() + token, task.io.k.data() + token,
                                       task.io.v[token + j]);
    const std::int32_t block = walk.after(t);
    if (is_state_block(block)) column.store(task.pool.block(block) + offset);
  }
  if (is_state_block(walk.last())) column.store(task.pool.block(walk.last()) + offset);
}

template <class Rows>
Status launch(const LightningLayer& layer, const Rows& rows, const StatePool& pool,
              const LightningTokens& tokens, CUstream_st* stream) {
  const std::int64_t outputs = static_cast<std::int64_t>(layer.num_heads) * layer.head_dim;
  if (outputs == 0) return Ok{};
  if (layer.head_dim > kMostDimensions)
    return invalid_input("lightning attention of " + std::to_string(layer.head_dim) +
                         " dimensions a head; kernels take up to " +
                         std::to_string(kMostDimensions));
  const LightningTask<Rows> task{layer, rows, device_pool(pool), tokens,
                                 static_cast<std::int32_t>(std::ssize(tokens.o) / outputs)};
  const int slab = layer.head_dim * kWarp * static_cast<int>(sizeof(float));
  if (Status status =
          cuda_status(cudaFuncSetAttribute(fold_columns<Rows>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, slab),
                      "shared memory of lightning attention");
      !status)
    return status;
  const std::int64_t parts = (layer.head_dim + kWarp - 1) / kWarp;
  const std::int64_t blocks = (rows.num_rows() + 1) * parts * layer.num_heads;
  fold_columns<<<static_cast<unsigned int>(blocks), kWarp, static_cast<std::size_t>(slab),
                 stream>>>(task);
  return cuda_status(cudaGetLastError(), "launch of lightning attention");
}

}  // namespace

Status lightning_update_cuda(const LightningLayer& layer, const DecodeRows& rows,
                             const StatePool& pool, const LightningTokens& tokens,
                             CUstream_st* stream) {
  return launch(layer, rows, pool, tokens, stream);
}

Status lightning_prefill_cuda(const LightningLayer& layer, const PrefillRows& rows,
                              const StatePool& pool, const LightningTokens& tokens,
                              CUstream_st* stream) {
  return launch(layer, rows, pool, tokens, stream);
}

}  // namespace hybridscope
