// A launch writes the keys and values of all rows; a second one has a block of threads for each
// query head of each token. It takes its positions in pieces, twice: for the largest score, then
// for the weights, so that no sequence is too long for shared memory.
#include "kernels/numeric/attention_cuda.h"

#include <cuda_runtime.h>

#include <cmath>
#include <limits>
#include <string>

#include "kernels/cuda/cuda_check.h"
#include "kernels/numeric/quick_exp.h"
#include "kernels/numeric/thread_sums.cuh"
#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope {
namespace {

using namespace numeric_cuda;

constexpr std::int32_t kMostDimensions = 1024;
constexpr int kWriteThreads = 128;

struct AttentionTask {
  AttentionLayer layer;
  AttentionRows rows;
  KvCache cache;
  AttentionTokens io;
  std::int32_t num_tokens = 0;
  float scale = 0;

  __device__ std::int32_t block_of(std::int32_t row, std::int32_t position) const {
    return rows.block_table.at(row, position / layer.block_size);
  }
  // Of the cached head 0 of a position. Who reads where no block is gets what lies in the null
  // block.
  __device__ std::int64_t slot(std::int32_t row, std::int32_t position) const {
    const std::int64_t block = max(block_of(row, position), 0);
    return (block * layer.block_size + position % layer.block_size) * layer.num_kv_heads *
           layer.head_dim;
  }
};

// Of a token of the batch.
struct Place {
  std::int32_t row = -1;  // -1: no row with a sequence has the token
  std::int32_t position = 0;
};

__device__ Place place_of(const AttentionRows& rows, std::int32_t token) {
  // The last row that begins at or before the token; rows without tokens begin where the next does.
  std::int32_t low = 0;
  std::int32_t high = rows.num_rows();
  while (low < high) {
    const std::int32_t middle = (low + high) / 2;
    if (rows.query_start_loc[static_cast<std::size_t>(middle) + 1] <= token)
      low = middle + 1;
    else
      high = middle;
  }
  if (low >= rows.num_rows()) return {};
  const auto r = static_cast<std::size_t>(low);
  if (rows.seq_lens[r] <= 0 || rows.query_start_loc[r] > token) return {};
  return {low, rows.seq_lens[r] - rows.query_start_loc[r + 1] + token};
}

__global__ void __launch_bounds__(kWriteThreads)
    write_keys(const __grid_constant__ AttentionTask task) {
  const auto token = static_cast<std::int32_t>(blockIdx.x);
  const Place place = place_of(task.rows, token);
  if (place.row < 0 || place.position < 0) return;
  const std::int32_t block = task.block_of(place.row, place.position);
  if (block <= 0) return;
  // A block that a row has twice, which only a fault makes, keeps what the later token writes.
  const std::int32_t end = task.rows.seq_lens[static_cast<std::size_t>(place.row)];
  for (std::int32_t later = place.position + task.layer.block_size; later < end;
       later += task.layer.block_size)
    if (task.block_of(place.row, later) == block) return;
  const std::int32_t size = task.layer.num_kv_heads * task.layer.head_dim;
  const std::int64_t from = static_cast<std::int64_t>(token) * size;
  const std::int64_t to = task.slot(place.row, place.position);
  for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < size; i += kWriteThreads) {
    task.cache.keys.data()[to + i] = task.io.k.data()[from + i];
    task.cache.values.data()[to + i] = task.io.v.data()[from + i];
  }
}

// One query head of one token. All threads of the block call its functions together.
class QueryHead {
 public:
  __device__ QueryHead(const AttentionTask& task, const Place& place, const float* query,
                       std::int32_t kv_head, float* shared)
      : task_(task),
        place_(place),
        query_(query),
        kv_head_(static_cast<std::int64_t>(kv_head) * task.layer.head_dim),
        weights_(shared),
        warp_(static_cast<int>(threadIdx.x) / kWarp) {}

  // Writes the output's elements.
  __device__ void attend(float* output) {
    const float most = largest_score();
    float lanes[kWarp] = {};
    float total = 0;  // lane l of the sum of weights
    const std::int32_t count = place_.position + 1;
    for (std::int32_t first = 0; first < count; first += static_cast<std::int32_t>(blockDim.x)) {
      const std::int32_t size = min(static_cast<std::int32_t>(blockDim.x), count - first);
      __syncthreads();  // the last piece's weights have been read
      set_weights(first, size, most);
      __syncthreads();
      for (std::int32_t at = lane_of_thread(); at < size; at += kWarp) total += weights_[at];
      add_values(first, size, lanes);
    }
    const float sum = sum_of_lanes(total);
    if (element() < task_.layer.head_dim) output[element()] = total_of_lanes(lanes) / sum;
  }

 private:
  __device__ std::int32_t element() const { return static_cast<std::int32_t>(threadIdx.x); }
  __device__ int num_warps() const { return static_cast<int>(blockDim.x) / kWarp; }

  // Of a position, by a warp.
  __device__ float score(std::int32_t position) const {
    const float* key = task_.cache.keys.data() + task_.slot(place_.row, position) + kv_head_;
    float sum = 0;
    for (std::int32_t i = lane_of_thread(); i < task_.layer.head_dim; i += kWarp)
      sum += query_[i] * key[i];
    return sum_of_lanes(sum) * task_.scale;
  }

  // Without those that are NaN, which make every output NaN by their weights.
  __device__ float largest_score() {
    float most = -std::numeric_limits<float>::infinity();
    for (std::int32_t position = warp_; position <= place_.position; position += num_warps())
      most = fmaxf(most, score(position));
    if (lane_of_thread() == 0) weights_[warp_] = most;
    __syncthreads();
    for (int warp = 0; warp < num_warps(); ++warp) most = fmaxf(most, weights_[warp]);
    return most;
  }

  __device__ void set_weights(std::int32_t first, std::int32_t size, float most) {
    for (std::int32_t at = warp_; at < size; at += num_warps()) {
      const float weight = quick_exp_f32(score(first + at) - most);
      if (lane_of_thread() == 0) weights_[at] = weight;
    }
  }

  // The thread's element of the values, into the lane of each position.
  __device__ void add_values(std::int32_t first, std::int32_t size, float (&lanes)[kWarp]) const {
    if (element() >= task_.layer.head_dim) return;
    const float* values = task_.cache.values.data() + kv_head_ + element();
    for (std::int32_t begin = 0; begin < size; begin += kWarp) {
#pragma unroll
      for (int lane = 0; lane < kWarp; ++lane)
        if (begin + lane < size)
          lanes[lane] +=
              weights_[begin + lane] * values[task_.slot(place_.row, first + begin + lane)];
    }
  }

  const AttentionTask& task_;
  Place place_;
  const float* query_;
  std::int64_t kv_head_;  // of the head inside a slot
  float* weights_;        // [threads]
  int warp_;
};

__global__ void __launch_bounds__(kMostDimensions)
    attend(const __grid_constant__ AttentionTask task) {
  extern __shared__ float shared[];
  const std::int32_t heads = task.layer.num_heads;
  const auto token = static_cast<std::int32_t>(blockIdx.x) / heads;
  const auto head = static_cast<std::int32_t>(blockIdx.x) % heads;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * task.layer.head_dim;
  const Place place = place_of(task.rows, token);
  if (place.row < 0 || place.position < 0) {
    if (static_cast<std::int32_t>(threadIdx.x) < task.layer.head_dim)
      task.io.o.data()[at + threadIdx.x] = 0.0F;
    return;
  }
  QueryHead query(task, place, task.io.q.data() + at, head / (heads / task.layer.num_kv_heads),
                  shared);
  query.attend(task.io.o.data() + at);
}

// Error: sizes that no kernel takes.
Status check_sizes(const AttentionLayer& layer) {
  if (layer.head_dim <= kMostDimensions) return Ok{};
  return invalid_input("attention of " + std::to_string(layer.head_dim) +
                       " dimensions a head; kernels take up to " + std::to_string(kMostDimensions));
}

std::int64_t tokens_of(const AttentionLayer& layer, const AttentionTokens& tokens) {
  const std::int64_t elements = static_cast<std::int64_t>(layer.num_heads) * layer.head_dim;
  return elements == 0 ? 0 : std::ssize(tokens.o) / elements;
}

AttentionTask task_of(const AttentionLayer& layer, const AttentionRows& rows, const KvCache& cache,
                      const AttentionTokens& tokens) {
  return {layer,
          rows,
          cache,
          tokens,
          static_cast<std::int32_t>(tokens_of(layer, tokens)),
          static_cast<float>(1.0 / std::sqrt(static_cast<double>(layer.head_dim)))};
}

}  // namespace

Status write_keys_cuda(const AttentionLayer& layer, const AttentionRows& rows, const KvCache& cache,
                       const AttentionTokens& tokens, CUstream_st* stream) {
  if (Status status = check_sizes(layer); !status) return status;
  const std::int64_t num_tokens = tokens_of(layer, tokens);
  if (num_tokens == 0) return Ok{};
  write_keys<<<static_cast<unsigned int>(num_tokens), kWriteThreads, 0, stream>>>(
      task_of(layer, rows, cache, tokens));
  return cuda_status(cudaGetLastError(), "launch of the writes of attention");
}

Status attend_cuda(const AttentionLayer& layer, const AttentionRows& rows, const KvCache& cache,
                   const AttentionTokens& tokens, CUstream_st* stream) {
  if (Status status = check_sizes(layer); !status) return status;
  const std::int64_t num_tokens = tokens_of(layer, tokens);
  if (num_tokens == 0) return Ok{};
  const int threads = std::max(128, (layer.head_dim + kWarp - 1) / kWarp * kWarp);
  attend<<<static_cast<unsigned int>(num_tokens * layer.num_heads),
           static_cast<unsigned int>(threads), static_cast<std::size_t>(threads) * sizeof(float),
           stream>>>(task_of(layer, rows, cache, tokens));
  return cuda_status(cudaGetLastError(), "launch of attention");
}

Status paged_attention_cuda(const AttentionLayer& layer, const AttentionRows& rows,
                            const KvCache& cache, const AttentionTokens& tokens,
                            CUstream_st* stream) {
  if (Status status = write_keys_cuda(layer, rows, cache, tokens, stream); !status) return status;
  return attend_cuda(layer, rows, cache, tokens, stream);
}

}  // namespace hybridscope
