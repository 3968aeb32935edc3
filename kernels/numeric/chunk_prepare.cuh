// What pieces of chunks need besides the state, for all of them at once: normalised queries and
// keys, sums of decays, products of queries and keys, and the inverse of I + M of the delta rule
// (numerics: Mamba2, GatedDeltaNet, KDA; form chunked).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "core/numeric/arithmetic.h"
#include "kernels/numeric/chunk_pieces.cuh"
#include "kernels/numeric/quick_exp.h"
#include "kernels/numeric/tile_products.cuh"

namespace hybridscope::numeric_cuda {

inline constexpr int kPrepareThreads = 256;
inline constexpr int kSquareStride = kPieceTokens + 4;  // apart in banks of shared memory

// One layer's arrays, under the names of the delta rule.
struct PrepareTask {
  ChunkSizes sizes;
  ChunkScratch scratch;
  const float* q = nullptr;        // [tokens, Hk, Dk]
  const float* k = nullptr;        // [tokens, Hk, Dk]
  const float* gates = nullptr;    // a, or Mamba2's dt: [tokens, Hv], of channels [tokens, Hv, Dk]
  const float* b = nullptr;        // [tokens, Hv], of the delta rule
  const float* A_log = nullptr;    // [Hv]
  const float* dt_bias = nullptr;  // [Hv], of channels [Hv, Dk]
  float scale = 0;                 // of queries
  float dt_min = 0, dt_max = 0;
  bool has_dt_limit = false;
};

template <ChunkKind kKind, int kKeys>
class PreparedPiece {
 public:
  static constexpr int kStride = kKeys + 4;
  static constexpr int kTiles = kPieceTokens / kTile;
  static constexpr int kTileStride = kTile + 4;
  // Queries, keys, sums; of the delta rule M, its inverse, a tile a warp that inverts, betas.
  static constexpr std::size_t kFloats =
      2 * kPieceTokens * kStride + kPieceTokens +
      (is_delta(kKind)
           ? 2 * kPieceTokens * kSquareStride + kTiles * kTile * kTileStride + kPieceTokens
           : 0);

  __device__ PreparedPiece(const PrepareTask& task, float* shared)
      : task_(task),
        piece_(task.scratch.pieces[blockIdx.x]),
        head_(static_cast<std::int32_t>(blockIdx.y)),
        key_head_(head_ / task.sizes.heads_of_key()),
        leads_(head_ % task.sizes.heads_of_key() == 0),
        thread_(static_cast<int>(threadIdx.x)),
        warp_(thread_ / kWarp),
        lane_(lane_of_thread()) {
    const auto take = [&shared](int floats) {
      float* const taken = shared;
      shared += floats;
      return taken;
    };
    q_ = take(kPieceTokens * kStride);
    k_ = take(kPieceTokens * kStride);
    sums_ = take(kPieceTokens);
    if constexpr (!is_delta(kKind)) return;
    m_ = take(kPieceTokens * kSquareStride);
    inverse_ = take(kPieceTokens * kSquareStride);
    tiles_ = take(kTiles * kTile * kTileStride);
    beta_ = take(kPieceTokens);
  }

  __device__ void run() {
    if (piece_.row < 0) return;
    if (is_delta(kKind) || leads_) load_rows();
    if constexpr (is_of_head(kKind))
      sum_head_decays();
    else
      sum_channel_decays();
    if (is_delta(kKind) && thread_ < kPieceTokens)
      beta_[thread_] =
          thread_ < num_tokens() ? quick_sigma_f32(task_.b[token_head(thread_)]) : 0.0F;
    __syncthreads();
    if constexpr (is_of_head(kKind)) {
      if (leads_) multiply_queries();
    } else {
      multiply_channels();
    }
    if constexpr (is_delta(kKind)) {
      if constexpr (is_of_head(kKind)) multiply_keys();
      __syncthreads();
      invert();
    }
  }

 private:
  __device__ int num_tokens() const { return piece_.last - piece_.first; }
  // Index of the piece's token i in arrays [tokens, Hv].
  __device__ std::int64_t token_head(int i) const {
    return std::int64_t{piece_.first + i} * task_.sizes.value_heads + head_;
  }
  // Where the piece's part of an array [pieces, heads, size] lies.
  __device__ static std::int64_t own(std::int32_t heads, std::int32_t head, std::int64_t size) {
    return (std::int64_t{blockIdx.x} * heads + head) * size;
  }

  // A warp has every eighth row. All are loaded before one is used.
  static constexpr int kElements = kKeys / kWarp;
  static constexpr int kWarps = kPrepareThreads / kWarp;
  static constexpr int kRows = kPieceTokens / kWarps;
  __device__ void load_rows(const float* from, float (&rows)[kRows][kElements]) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int i = warp_ + r * kWarps;
      const std::int64_t row =
          (std::int64_t{piece_.first + i} * task_.sizes.key_heads + key_head_) *
          task_.sizes.key_dim;
#pragma unroll
      for (int c = 0; c < kElements; ++c) {
        const int at = lane_ + c * kWarp;
        rows[r][c] = i < num_tokens() && at < task_.sizes.key_dim ? from[row + at] : 0.0F;
      }
    }
  }
  // Normalised by the delta rule.
  __device__ void keep_rows(const float (&rows)[kRows][kElements], float scale, float* to,
                            float* kept) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      constexpr float kEpsilon = 1e-6F;
      const int i = warp_ + r * kWarps;
      float squares = 0;
#pragma unroll
      for (int c = 0; c < kElements; ++c) squares += rows[r][c] * rows[r][c];
      const float factor =
          is_delta(kKind) ? rsqrt_f32(sum_of_lanes(squares) + kEpsilon) * scale : 1.0F;
#pragma unroll
      for (int c = 0; c < kElements; ++c) {
        const int at = lane_ + c * kWarp;
        const float value = rows[r][c] * factor;
        to[i * kStride + at] = value;
        if (leads_) kept[i * kKeys + at] = value;
      }
    }
  }
  __device__ void load_rows() const {
    const std::int64_t kept =
        own(task_.sizes.key_heads, key_head_, std::int64_t{kPieceTokens} * kKeys);
    const bool has_queries = leads_ || !is_of_head(kKind);
    float keys[kRows][kElements];
    float queries[kRows][kElements] = {};
    load_rows(task_.k, keys);
    if (has_queries) load_rows(task_.q, queries);
    keep_rows(keys, 1.0F, k_, task_.scratch.keys + kept);
    if (has_queries) keep_rows(queries, task_.scale, q_, task_.scratch.queries + kept);
  }

  __device__ void sum_head_decays() const {
    const std::int64_t kept = own(task_.sizes.value_heads, head_, kPieceTokens);
    if (thread_ < kPieceTokens) {
      const float A = -quick_exp_f32(task_.A_log[head_]);
      float step = 0;
      if (thread_ < num_tokens()) {
        step = quick_softplus_f32(task_.gates[token_head(thread_)] + task_.dt_bias[head_]);
        if (task_.has_dt_limit) step = std::clamp(step, task_.dt_min, task_.dt_max);
      }
      sums_[thread_] = thread_ < num_tokens() ? A * step : 0.0F;
      if constexpr (!is_delta(kKind)) task_.scratch.steps[kept + thread_] = step;
    }
    __syncthreads();
    if (thread_ >= kWarp) return;
    static_assert(kPieceTokens == 2 * kWarp);
    const float first = sums_[2 * lane_];
    const float second = first + sums_[2 * lane_ + 1];
    float sum = second;
#pragma unroll
    for (int distance = 1; distance < kWarp; distance *= 2) {
      const float other = __shfl_up_sync(kWholeWarp, sum, distance);
      if (lane_ >= distance) sum += other;
    }
    const float before = __shfl_up_sync(kWholeWarp, sum, 1);
    sums_[2 * lane_] = lane_ == 0 ? first : before + first;
    sums_[2 * lane_ + 1] = sum;
    for (int i = 2 * lane_; i < 2 * lane_ + 2; ++i) task_.scratch.sums[kept + i] = sums_[i];
  }

  __device__ float* channel_sums() const {
    return task_.scratch.sums +
           own(task_.sizes.value_heads, head_, std::int64_t{kPieceTokens} * kKeys);
  }
  __device__ void sum_channel_decays() const {
    float* const sums = channel_sums();
    const float A = -quick_exp_f32(task_.A_log[head_]);
    for (int d = thread_; d < kKeys; d += kPrepareThreads) {
      float sum = 0;
      for (int i = 0; i < kPieceTokens; ++i) {
        if (i < num_tokens() && d < task_.sizes.key_dim)
          sum += A * quick_softplus_f32(task_.gates[token_head(i) * task_.sizes.key_dim + d] +
                                        task_.dt_bias[head_ * task_.sizes.key_dim + d]);
        sums[d * kPieceTokens + i] = sum;
      }
    }
  }

  // Half of the columns of a tile of rows, of rows of `a` with keys.
  __device__ WarpTile<kPieceTokens / 16> times_keys(const float* a) const {
    const float* const rows = a + warp_ % kTiles * kTile * kStride;
    const float* const keys = k_ + warp_ / kTiles * (kPieceTokens / 2) * kStride;
    WarpTile<kPieceTokens / 16> tile;
    add_product(
        tile, kKeys, [rows](int row, int term) { return rows[row * kStride + term]; },
        [keys](int term, int column) { return keys[column * kStride + term]; });
    return tile;
  }
  __device__ int row_of(int row) const { return warp_ % kTiles * kTile + row; }
  __device__ int column_of(int column) const {
    return warp_ / kTiles * (kPieceTokens / 2) + column;
  }

  __device__ void multiply_queries() const {
    float* const to = task_.scratch.products + own(task_.sizes.key_heads, key_head_, kSquare);
    times_keys(q_).for_each([&](int row, int column, float product) {
      to[row_of(row) * kPieceTokens + column_of(column)] = product;
    });
  }

  // M: strictly lower, with decays and betas.
  __device__ void multiply_keys() const {
    times_keys(k_).for_each([&](int row, int column, float product) {
      const int i = row_of(row);
      const int j = column_of(column);
      m_[i * kSquareStride + j] = j < i ? beta_[i] * product * expf(sums_[i] - sums_[j]) : 0.0F;
    });
  }

  // Both products with a decay for each channel.
  __device__ void multiply_channels() const {
    const float* const sums = channel_sums();
    float* const to = task_.scratch.products + own(task_.sizes.value_heads, head_, kSquare);
    for (int at = thread_; at < kSquare; at += kPrepareThreads) {
      const int i = at / kPieceTokens;
      const int j = at % kPieceTokens;
      float of_keys = 0;
      float of_queries = 0;
      for (int d = 0; j <= i && d < kKeys; ++d) {
        const float decayed =
            k_[j * kStride + d] * expf(sums[d * kPieceTokens + i] - sums[d * kPieceTokens + j]);
        of_keys += k_[i * kStride + d] * decayed;
        of_queries += q_[i * kStride + d] * decayed;
      }
      m_[i * kSquareStride + j] = j < i ? beta_[i] * of_keys : 0.0F;
      to[at] = of_queries;
    }
  }

  // (I + M)^-1: tiles on the diagonal by substitution, a column a thread; those below by products,
  // a column of tiles a warp.
  __device__ void invert() const {
    for (int at = thread_; at < kSquare; at += kPrepareThreads)
      if (at % kPieceTokens / kTile > at / kPieceTokens / kTile)
        inverse_[at / kPieceTokens * kSquareStride + at % kPieceTokens] = 0;
    if (thread_ < kPieceTokens) invert_diagonal(thread_ / kTile * kTile, thread_ % kTile);
    __syncthreads();
    if (warp_ < kTiles) invert_below(warp_);
    __syncthreads();
    float* const to = task_.scratch.inverses + own(task_.sizes.value_heads, head_, kSquare);
    for (int at = thread_; at < kSquare; at += kPrepareThreads)
      to[at] = inverse_[at / kPieceTokens * kSquareStride + at % kPieceTokens] *
               beta_[at % kPieceTokens];
  }
  __device__ void invert_diagonal(int first, int column) const {
    const float* const m = m_ + first * kSquareStride + first;
    float solved[kTile];
#pragma unroll
    for (int i = 0; i < kTile; ++i) {
      float value = i == column ? 1.0F : 0.0F;
#pragma unroll
      for (int j = 0; j < i; ++j) value -= m[i * kSquareStride + j] * solved[j];
      solved[i] = value;
      inverse_[(first + i) * kSquareStride + first + column] = value;
    }
  }
  __device__ void invert_below(int column) const {
    float* const between = tiles_ + column * kTile * kTileStride;
    for (int row = column + 1; row < kTiles; ++row) {
      const float* const m = m_ + (row * kSquareStride + column) * kTile;
      const float* const above = inverse_ + (column * kSquareStride + column) * kTile;
      WarpTile<2> known;
      add_product(
          known, (row - column) * kTile,
          [m](int i, int term) { return m[i * kSquareStride + term]; },
          [above](int term, int j) { return above[term * kSquareStride + j]; });
      known.for_each([&](int i, int j, float value) { between[i * kTileStride + j] = -value; });
      __syncwarp();
      const float* const diagonal = inverse_ + (row * kSquareStride + row) * kTile;
      WarpTile<2> tile;
      add_product(
          tile, kTile, [diagonal](int i, int term) { return diagonal[i * kSquareStride + term]; },
          [between](int term, int j) { return between[term * kTileStride + j]; });
      float* const to = inverse_ + (row * kSquareStride + column) * kTile;
      tile.for_each([to](int i, int j, float value) { to[i * kSquareStride + j] = value; });
      __syncwarp();
    }
  }

  const PrepareTask& task_;
  ChunkPiece piece_;
  std::int32_t head_;
  std::int32_t key_head_;
  bool leads_;  // of the value heads of its key head
  int thread_, warp_, lane_;
  float *q_, *k_, *sums_;
  float *m_ = nullptr, *inverse_ = nullptr, *tiles_ = nullptr, *beta_ = nullptr;
};

template <ChunkKind kKind, int kKeys>
__global__ void __launch_bounds__(kPrepareThreads) prepare_pieces(PrepareTask task) {
  extern __shared__ float4 shared[];
  PreparedPiece<kKind, kKeys>(task, reinterpret_cast<float*>(shared)).run();
}

}  // namespace hybridscope::numeric_cuda
