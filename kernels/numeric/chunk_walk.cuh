// The pieces of a row one after the other, by a block for each part of a state: what the state
// gives the outputs, what the values give them, and the state behind the piece (numerics: Mamba2,
// GatedDeltaNet, KDA; form chunked).
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/numeric/chunk_pieces.cuh"
#include "kernels/numeric/tile_products.cuh"

namespace hybridscope::numeric_cuda {

inline constexpr int kWalkThreads = 256;
inline constexpr int kPartRows = 32;  // value rows of a state that a block has

// One layer's arrays, under the names of the delta rule.
struct WalkTask {
  ChunkSizes sizes;
  ChunkScratch scratch;
  std::int32_t num_pieces = 0;
  PrefillRows rows;
  StatePool pool;
  bool reads_states = false;
  bool in_turn = false;
  bool loads_ahead = false;  // shared memory has room for two pieces
  const float* v = nullptr;  // [tokens, Hv, Dv]
  float* o = nullptr;        // [tokens, Hv, Dv]
  const float* D = nullptr;  // [Hv], of Mamba2
};

// Rows [first, first + kPartRows) of a head's state, [value rows, keys], in shared memory.
template <ChunkKind kKind, int kKeys>
class StateWalk {
 public:
  static constexpr int kStride = kKeys + 4;
  static constexpr int kSquareStride = kPieceTokens + 4;
  static constexpr int kValueStride = kPartRows + 4;
  static constexpr int kTiles = kPieceTokens / kTile;
  static constexpr int kOwnValues = kPieceTokens * kPartRows / kWalkThreads;  // of a thread
  // The floats of a piece in scratch: queries, keys, products, inverse.
  static constexpr int kPieceFloats =
      2 * kPieceTokens * kStride + (is_delta(kKind) ? 2 : 1) * kPieceTokens * kSquareStride;
  // All floats in shared memory: one piece or two, the state, values, and four numbers a token.
  static constexpr std::size_t floats(bool ahead) {
    return (ahead ? 2 : 1) * kPieceFloats + kPartRows * kStride + kPieceTokens * kValueStride +
           4 * kPieceTokens;
  }

  __device__ StateWalk(const WalkTask& task, std::int32_t part, float* shared)
      : task_(task),
        pieces_(shared),
        head_(static_cast<std::int32_t>(blockIdx.y)),
        key_head_(head_ / task.sizes.heads_of_key()),
        first_(part * kPartRows),
        count_(min(kPartRows, task.sizes.value_dim - first_)),
        thread_(static_cast<int>(threadIdx.x)),
        warp_(thread_ / kWarp) {
    shared += (task.loads_ahead ? 2 : 1) * kPieceFloats;
    const auto take = [&shared](int floats) {
      float* const taken = shared;
      shared += floats;
      return taken;
    };
    state_ = take(kPartRows * kStride);
    values_ = take(kPieceTokens * kValueStride);
    sums_ = take(kPieceTokens);
    from_start_ = take(kPieceTokens);
    to_end_ = take(kPieceTokens);
    steps_ = take(kPieceTokens);
  }

  // The state that a row begins with.
  __device__ void load(std::int32_t row) {
    const bool reads = task_.reads_states && task_.rows.has_initial_state(row);
    const float* const from = reads ? block(task_.rows.source(row)) : nullptr;
    for_own_elements([&](int at, std::int64_t in_block) {
      state_[at] = reads && in_block >= 0 ? from[in_block] : 0.0F;
    });
  }
  // Nothing where `id` is no block.
  __device__ void store(std::int32_t id) {
    if (!is_state_block(id)) return;
    float* const to = block(id);
    for_own_elements([&](int at, std::int64_t in_block) {
      if (in_block >= 0) to[in_block] = state_[at];
    });
  }

  // Outputs of the piece's tokens, and the state behind them. `next`: the piece that the next call
  // is for, which is loaded meanwhile; -1: not known.
  __device__ void fold(std::int32_t index, std::int32_t next) {
    if constexpr (!is_of_head(kKind)) channel_sums_ = channel_sums(index);
    if (loaded_ != index) load_piece(index);
    const ChunkPiece piece = begin_piece();
    loaded_ = -1;
    if (task_.loads_ahead && next >= 0) load_piece(next);
    decay_piece();
    __syncthreads();
    WarpTile<2> outputs;
    if constexpr (is_delta(kKind)) {
      WarpTile<2> both[2];
      multiply_state(both, q_, k_);
      outputs = both[0];
      subtract_known(both[1]);
      __syncthreads();
      solve();
    } else {
      WarpTile<2> one[1];
      multiply_state(one, q_, q_);
      outputs = one[0];
      __syncthreads();  // before the state changes
    }
    write_outputs(outputs, piece);
    if constexpr (!is_of_head(kKind)) {
      decay_keys_to_end(index);  // solve() waited for those that read them
      __syncthreads();
    }
    advance(piece.last - piece.first);
    __syncthreads();
  }

 private:
  __device__ float* block(std::int32_t id) const {
    const std::int64_t stride =
        task_.pool.stride == 0 ? task_.pool.block_elements : task_.pool.stride;
    return task_.pool.data.data() + id * stride +
           (std::int64_t{head_} * task_.sizes.value_dim + first_) * task_.sizes.key_dim;
  }
  // visit(place in shared memory, place behind block(); -1: outside the state), the same elements
  // in each call of a thread.
  template <class Visit>
  __device__ void for_own_elements(Visit&& visit) const {
    for (int at = thread_; at < kPartRows * kKeys; at += kWalkThreads) {
      const int row = at / kKeys;
      const int key = at % kKeys;
      const bool inside = row < count_ && key < task_.sizes.key_dim;
      visit(row * kStride + key,
            inside ? std::int64_t{row} * task_.sizes.key_dim + key : std::int64_t{-1});
    }
  }
  __device__ static std::int64_t own(std::int32_t index, std::int32_t heads, std::int32_t head,
                                     std::int64_t size) {
    return (std::int64_t{index} * heads + head) * size;
  }
  // Where value row 0 of the part begins at a token, in arrays [tokens, Hv, Dv].
  __device__ std::int64_t token_head(std::int32_t token) const {
    return (std::int64_t{token} * task_.sizes.value_heads + head_) * task_.sizes.value_dim + first_;
  }

  // Rows of kWidth floats to rows that lie `stride` apart.
  template <int kWidth>
  __device__ void copy_rows(const float* from, float* to, int stride) const {
    for (int at = thread_ * 4; at < kPieceTokens * kWidth; at += kWalkThreads * 4)
      __pipeline_memcpy_async(to + at / kWidth * stride + at % kWidth, from + at,
                              4 * sizeof(float));
  }
  __device__ const float* own_keys(const float* of_scratch, std::int32_t index) const {
    return of_scratch +
           own(index, task_.sizes.key_heads, key_head_, std::int64_t{kPieceTokens} * kKeys);
  }
  __device__ const float* channel_sums(std::int32_t index) const {
    return task_.scratch.sums +
           own(index, task_.sizes.value_heads, head_, std::int64_t{kPieceTokens} * kKeys);
  }

  // Sends for the piece's arrays, which go where no piece is in use, and loads its values and
  // decays, which begin_piece() puts in place.
  __device__ void load_piece(std::int32_t index) {
    float* const to = pieces_ + spare_;
    copy_rows<kKeys>(own_keys(task_.scratch.queries, index), to, kStride);
    copy_rows<kKeys>(own_keys(task_.scratch.keys, index), to + kPieceTokens * kStride, kStride);
    const std::int64_t products = is_of_head(kKind)
                                      ? own(index, task_.sizes.key_heads, key_head_, kSquare)
                                      : own(index, task_.sizes.value_heads, head_, kSquare);
    float* const squares = to + 2 * kPieceTokens * kStride;
    copy_rows<kPieceTokens>(task_.scratch.products + products, squares, kSquareStride);
    if constexpr (is_delta(kKind))
      copy_rows<kPieceTokens>(
          task_.scratch.inverses + own(index, task_.sizes.value_heads, head_, kSquare),
          squares + kPieceTokens * kSquareStride, kSquareStride);
    __pipeline_commit();
    ahead_.piece = task_.scratch.pieces[index];
#pragma unroll
    for (int n = 0; n < kOwnValues; ++n) {
      const int i = thread_ / kPartRows + n * (kWalkThreads / kPartRows);
      const int row = thread_ % kPartRows;
      const bool inside = ahead_.piece.first + i < ahead_.piece.last && row < count_;
      ahead_.values[n] = inside ? task_.v[token_head(ahead_.piece.first + i) + row] : 0.0F;
    }
    if (is_of_head(kKind) && thread_ < kPieceTokens) {
      const std::int64_t at = own(index, task_.sizes.value_heads, head_, kPieceTokens);
      ahead_.sum = task_.scratch.sums[at + thread_];
      ahead_.last = task_.scratch.sums[at + kPieceTokens - 1];
      if constexpr (!is_delta(kKind)) ahead_.step = task_.scratch.steps[at + thread_];
    }
    loaded_ = index;
  }
  // What load_piece() has loaded.
  __device__ ChunkPiece begin_piece() {
    q_ = pieces_ + spare_;
    if (task_.loads_ahead) spare_ = kPieceFloats - spare_;
    k_ = q_ + kPieceTokens * kStride;
    products_ = k_ + kPieceTokens * kStride;
    inverse_ = products_ + kPieceTokens * kSquareStride;
#pragma unroll
    for (int n = 0; n < kOwnValues; ++n)
      values_[(thread_ / kPartRows + n * (kWalkThreads / kPartRows)) * kValueStride +
              thread_ % kPartRows] = ahead_.values[n];
    if (is_of_head(kKind) && thread_ < kPieceTokens) {
      sums_[thread_] = ahead_.sum;
      from_start_[thread_] = expf(ahead_.sum);
      to_end_[thread_] = expf(ahead_.last - ahead_.sum);
      if constexpr (!is_delta(kKind)) {
        to_end_[thread_] *= ahead_.step;
        steps_[thread_] = ahead_.step;
      }
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    return ahead_.piece;
  }

  // Products of queries and keys get their decays; where channels have their own, they have them
  // already, and queries and keys get those from the piece's start on.
  __device__ void decay_piece() const {
    if constexpr (is_of_head(kKind)) {
      for (int at = thread_; at < kSquare; at += kWalkThreads) {
        const int i = at / kPieceTokens;
        const int j = at % kPieceTokens;
        float& product = products_[i * kSquareStride + j];
        float weight = j <= i ? expf(sums_[i] - sums_[j]) : 0.0F;
        if constexpr (!is_delta(kKind))
          if (j <= i) weight *= steps_[j];
        product = j <= i ? product * weight : 0.0F;
      }
    } else {
      const float* const sums = channel_sums_;
      for (int at = thread_; at < kPieceTokens * kKeys; at += kWalkThreads) {
        const int place = at % kPieceTokens * kStride + at / kPieceTokens;
        const float decay = expf(sums[at]);
        q_[place] *= decay;
        k_[place] *= decay;
      }
    }
  }
  __device__ void decay_keys_to_end(std::int32_t index) const {
    const float* const sums = channel_sums_;
    const float* const keys = own_keys(task_.scratch.keys, index);
    for (int at = thread_; at < kPieceTokens * kKeys; at += kWalkThreads) {
      const int i = at % kPieceTokens;
      const int d = at / kPieceTokens;
      k_[i * kStride + d] =
          keys[i * kKeys + d] * expf(sums[d * kPieceTokens + kPieceTokens - 1] - sums[at]);
    }
  }

  // A warp has a tile of 16 tokens and 16 value rows.
  __device__ int token_of(int row) const { return warp_ % kTiles * kTile + row; }
  __device__ int value_of(int column) const { return warp_ / kTiles * kTile + column; }

  // Rows of one or two of queries and keys with the state.
  template <int kFactors>
  __device__ void multiply_state(WarpTile<2> (&tiles)[kFactors], const float* first,
                                 const float* second) const {
    const float* const rows[2] = {first + token_of(0) * kStride, second + token_of(0) * kStride};
    const float* const own_state = state_ + value_of(0) * kStride;
    add_products(
        tiles, kKeys,
        [&rows](int factor, int row, int term) { return rows[factor][row * kStride + term]; },
        [own_state](int term, int column) { return own_state[column * kStride + term]; });
    if constexpr (is_of_head(kKind))
      for (WarpTile<2>& tile : tiles)
        tile.for_each([&](int row, int, float& sum) { sum *= from_start_[token_of(row)]; });
  }
  // Rows of a lower triangle of tokens with the values.
  __device__ void add_values(WarpTile<2>& tile, const float* square) const {
    const float* const own_rows = square + token_of(0) * kSquareStride;
    const float* const own_values = values_ + value_of(0);
    add_product(
        tile, token_of(0) + kTile,
        [own_rows](int row, int term) { return own_rows[row * kSquareStride + term]; },
        [own_values](int term, int column) { return own_values[term * kValueStride + column]; });
  }

  __device__ void subtract_known(WarpTile<2>& known) const {
    known.for_each([&](int row, int column, float value) {
      values_[token_of(row) * kValueStride + value_of(column)] -= value;
    });
  }
  // Values become what each token adds to the state.
  __device__ void solve() const {
    WarpTile<2> added;
    add_values(added, inverse_);
    __syncthreads();
    added.for_each([&](int row, int column, float value) {
      values_[token_of(row) * kValueStride + value_of(column)] = value;
    });
    __syncthreads();
  }

  __device__ void write_outputs(WarpTile<2>& outputs, const ChunkPiece& piece) const {
    add_values(outputs, products_);
    outputs.for_each([&](int row, int column, float value) {
      const int i = token_of(row);
      const int of_value = value_of(column);
      if (piece.first + i >= piece.last || of_value >= count_) return;
      if constexpr (!is_delta(kKind))
        value += values_[i * kValueStride + of_value] * task_.D[head_];
      task_.o[token_head(piece.first + i) + of_value] = value;
    });
  }

  // A warp has 16 value rows and a quarter of the keys.
  __device__ void advance(int num_tokens) const {
    constexpr int kColumns = kKeys / 4;
    const int first_value = warp_ % 2 * kTile;
    const int first_key = warp_ / 2 * kColumns;
    float* const own_state = state_ + first_value * kStride + first_key;
    WarpTile<kColumns / 8> tile;
    tile.for_each([&](int row, int column, float& sum) {
      sum = own_state[row * kStride + column] * decay_of(first_key + column);
    });
    const float* const values = values_ + first_value;
    const float* const keys = k_ + first_key;
    add_product(
        tile, (num_tokens + 7) / 8 * 8,
        [&](int row, int term) {
          const float value = values[term * kValueStride + row];
          return is_of_head(kKind) ? value * to_end_[term] : value;
        },
        [keys](int term, int column) { return keys[term * kStride + column]; });
    tile.for_each([&](int row, int column, float sum) { own_state[row * kStride + column] = sum; });
  }
  // Over the whole piece.
  __device__ float decay_of(int key) const {
    return is_of_head(kKind) ? from_start_[kPieceTokens - 1]
                             : expf(channel_sums_[key * kPieceTokens + kPieceTokens - 1]);
  }

  // The piece that was loaded last has these values in registers.
  struct Ahead {
    ChunkPiece piece;
    float values[kOwnValues];
    float sum, last, step;  // of a token's decay
  };

  const WalkTask& task_;
  float* pieces_;  // that which runs, and the next one
  int spare_ = 0;  // where the next one goes, behind `pieces_`
  Ahead ahead_;
  std::int32_t loaded_ = -1;  // the piece in `ahead_`
  std::int32_t head_, key_head_;
  int first_, count_;  // value rows
  int thread_, warp_;
  float *state_, *values_;
  float *q_, *k_, *products_, *inverse_;  // of the piece that runs
  // A head has one number a token: sums of decays, decays from and to the ends, Mamba2's dt.
  float *sums_, *from_start_, *to_end_, *steps_;
  const float* channel_sums_ = nullptr;  // of the piece, where channels have their own
};

}  // namespace hybridscope::numeric_cuda
