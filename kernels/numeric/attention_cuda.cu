// A launch writes the keys and values of all rows; a second one has a block of threads for each
// query head of each token. It takes its positions in pieces, twice: for the largest score, then
// for the weights, so that no sequence is too long for shared memory.
#include "kernels/numeric/dense_cuda.h"

#include <cuda_runtime.h>

#include <cmath>
#include <limits>
#include <string>

#include "kernels/cuda/device_memory.h"
#include "kernels/numeric/quick_exp.h"
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
  // Where the cached head 0 of a position begins. Who reads where no block is gets what lies in the
  // null block.
  __device__ std::int64_t slot(std::int32_t row, std::int32_t position) const {
    const std::int64_t block = max(block_of(row, position), 0);
    return (block * layer.block_size + position % layer.block_size) * layer.num_kv_heads *
           layer.head_dim;
  }
};

// The place of a token of the batch.
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

// Scores that a block keeps between its two passes; those of later positions are computed again.
constexpr std::int32_t kKeptScores = 2048;

// Threads of a block for heads of up to 64 dimensions, which are fewer than a block has: groups of
// them share the lanes of the sums of values, and a thread computes the score of a position.
constexpr int kSmallThreads = 128;

// One query head of one token. All threads of the block call its functions together. kGroups: of
// threads that have every element of the output.
template <int kGroups>
class QueryHead {
 public:
  // `shared`: shared_floats(head_dim).
  __device__ QueryHead(const AttentionTask& task, const Place& place, const float* query,
                       std::int32_t kv_head, float* shared)
      : task_(task),
        place_(place),
        query_(query),
        kv_head_(static_cast<std::int64_t>(kv_head) * task.layer.head_dim),
        group_size_(static_cast<int>(blockDim.x) / kGroups),
        scores_(shared),
        weights_(scores_ + kKeptScores),
        lanes_(weights_ + blockDim.x),
        warp_(static_cast<int>(threadIdx.x) / kWarp) {}

  static std::size_t shared_floats(int num_threads) {
    const int lanes = kGroups == 1 ? 0 : kWarp * (num_threads / kGroups);
    return static_cast<std::size_t>(kKeptScores + num_threads + lanes);
  }

  // Writes the output's elements.
  __device__ void attend(float* output) {
    const float most = largest_score();
    float lanes[kLanes] = {};
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
    if constexpr (kGroups == 1) {
      if (element() < task_.layer.head_dim) output[element()] = total_of_lanes(lanes) / sum;
    } else {
#pragma unroll
      for (int i = 0; i < kLanes; ++i)
        lanes_[(first_lane() + i) * group_size_ + element()] = lanes[i];
      __syncthreads();
      if (first_lane() > 0 || element() >= task_.layer.head_dim) return;
      float all[kWarp];
#pragma unroll
      for (int lane = 0; lane < kWarp; ++lane) all[lane] = lanes_[lane * group_size_ + element()];
      output[element()] = total_of_lanes(all) / sum;
    }
  }

 private:
  static constexpr int kLanes = kWarp / kGroups;  // of a thread

  __device__ std::int32_t element() const { return static_cast<int>(threadIdx.x) % group_size_; }
  __device__ int first_lane() const { return static_cast<int>(threadIdx.x) / group_size_ * kLanes; }
  __device__ int num_warps() const { return static_cast<int>(blockDim.x) / kWarp; }

  __device__ const float* key(std::int32_t position) const {
    return task_.cache.keys.data() + task_.slot(place_.row, position) + kv_head_;
  }
  // The score of a position, computed by a warp, or by a thread.
  __device__ float score_of_warp(std::int32_t position) const {
    const float* const own = key(position);
    float sum = 0;
    for (std::int32_t i = lane_of_thread(); i < task_.layer.head_dim; i += kWarp)
      sum += query_[i] * own[i];
    return sum_of_lanes(sum) * task_.scale;
  }
  __device__ float score_of_thread(std::int32_t position) const {
    const float* const own = key(position);
    float lanes[kWarp] = {};
    for (std::int32_t begin = 0; begin < task_.layer.head_dim; begin += kWarp)
#pragma unroll
      for (int lane = 0; lane < kWarp; ++lane)
        if (begin + lane < task_.layer.head_dim)
          lanes[lane] += query_[begin + lane] * own[begin + lane];
    return total_of_lanes(lanes) * task_.scale;
  }

  // Calls `take(position, score)` by one thread for every position of [first, end).
  template <class Take>
  __device__ void for_each_score(std::int32_t first, std::int32_t end, Take&& take) const {
    if constexpr (kGroups == 1) {
      for (std::int32_t position = first + warp_; position < end; position += num_warps()) {
        const float score = score_of_warp(position);
        if (lane_of_thread() == 0) take(position, score);
      }
    } else {
      for (std::int32_t position = first + static_cast<std::int32_t>(threadIdx.x); position < end;
           position += static_cast<std::int32_t>(blockDim.x))
        take(position, score_of_thread(position));
    }
  }

  // The largest score but for those that are NaN, which make every output NaN by their weights.
  __device__ float largest_score() {
    float most = -std::numeric_limits<float>::infinity();
    for_each_score(0, place_.position + 1, [&](std::int32_t position, float score) {
      most = fmaxf(most, score);
      if (position < kKeptScores) scores_[position] = score;
    });
#pragma unroll
    for (int distance = kWarp / 2; distance > 0; distance /= 2)
      most = fmaxf(most, __shfl_xor_sync(kWholeWarp, most, distance));
    if (lane_of_thread() == 0) weights_[warp_] = most;
    __syncthreads();
    for (int warp = 0; warp < num_warps(); ++warp) most = fmaxf(most, weights_[warp]);
    return most;
  }

  __device__ void set_weights(std::int32_t first, std::int32_t size, float most) {
    if (first + size <= kKeptScores) {
      for (std::int32_t at = static_cast<std::int32_t>(threadIdx.x); at < size;
           at += static_cast<std::int32_t>(blockDim.x))
        weights_[at] = quick_exp_f32(scores_[first + at] - most);
      return;
    }
    for_each_score(first, first + size, [&](std::int32_t position, float score) {
      weights_[position - first] = quick_exp_f32(score - most);
    });
  }

  // The thread's element of the values, into the lanes of its positions.
  __device__ void add_values(std::int32_t first, std::int32_t size, float (&lanes)[kLanes]) const {
    if (element() >= task_.layer.head_dim) return;
    const float* values = task_.cache.values.data() + kv_head_ + element();
    for (std::int32_t begin = first_lane(); begin < size; begin += kWarp) {
#pragma unroll
      for (int i = 0; i < kLanes; ++i)
        if (begin + i < size)
          lanes[i] += weights_[begin + i] * values[task_.slot(place_.row, first + begin + i)];
    }
  }

  const AttentionTask& task_;
  Place place_;
  const float* query_;
  std::int64_t kv_head_;  // of the head inside a slot
  int group_size_;        // threads
  float* scores_;         // [kKeptScores]
  float* weights_;        // [threads]
  float* lanes_;          // [kWarp, group_size_], with several groups
  int warp_;
};

template <int kGroups>
__global__ void __launch_bounds__(kGroups == 1 ? kMostDimensions : kSmallThreads)
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
  QueryHead<kGroups> query(task, place, task.io.q.data() + at,
                           head / (heads / task.layer.num_kv_heads), shared);
  query.attend(task.io.o.data() + at);
}

template <int kGroups>
void launch_attend(const AttentionTask& task, std::int64_t num_blocks, int threads,
                   CUstream_st* stream) {
  attend<kGroups><<<static_cast<unsigned int>(num_blocks), static_cast<unsigned int>(threads),
                    QueryHead<kGroups>::shared_floats(threads) * sizeof(float), stream>>>(task);
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
  const AttentionTask task = task_of(layer, rows, cache, tokens);
  const std::int64_t blocks = num_tokens * layer.num_heads;
  if (layer.head_dim <= kWarp)
    launch_attend<4>(task, blocks, kSmallThreads, stream);
  else if (layer.head_dim <= 2 * kWarp)
    launch_attend<2>(task, blocks, kSmallThreads, stream);
  else
    launch_attend<1>(task, blocks,
                     std::max(kSmallThreads, (layer.head_dim + kWarp - 1) / kWarp * kWarp), stream);
  return cuda_status(cudaGetLastError(), "launch of attention");
}

Status paged_attention_cuda(const AttentionLayer& layer, const AttentionRows& rows,
                            const KvCache& cache, const AttentionTokens& tokens,
                            CUstream_st* stream) {
  if (Status status = write_keys_cuda(layer, rows, cache, tokens, stream); !status) return status;
  return attend_cuda(layer, rows, cache, tokens, stream);
}

}  // namespace hybridscope
