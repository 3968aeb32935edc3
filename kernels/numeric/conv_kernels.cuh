// A thread keeps the last W - 1 tokens of a few channels that lie side by side while a row's tokens
// run. All that it reads of a block it reads before it writes one.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/numeric/conv_cuda.h"
#include "kernels/numeric/quick_exp.h"
#include "kernels/numeric/quick_silu_bf16.cuh"
#include "kernels/numeric/row_walks.cuh"
#include "kernels/numeric/state_elements.cuh"

namespace hybridscope::numeric_cuda {

inline constexpr int kConvThreads = 128;

template <class T, int kSize>
using Channels = Pack<T, kSize>;

__device__ inline void activate(float sum, ConvActivation activation, float& output) {
  output = activation == ConvActivation::silu ? quick_silu_f32(sum) : sum;
}
__device__ inline void activate(float sum, ConvActivation activation, Bf16& output) {
  output = activation == ConvActivation::silu ? quick_silu_bf16(sum) : from_float<Bf16>(sum);
}

// Inputs and outputs of tokens as they are.
template <class T>
struct PlainTokens {
  using Element = T;
  const T* x = nullptr;
  T* y = nullptr;
  std::int32_t dim = 0;

  template <int kSize>
  __device__ Channels<T, kSize> input(std::int64_t token, std::int32_t channel) const {
    return *reinterpret_cast<const Channels<T, kSize>*>(x + token * dim + channel);
  }
  template <int kSize>
  __device__ void output(std::int64_t token, std::int32_t channel, const float (&sums)[kSize],
                         ConvActivation activation) const {
    Channels<T, kSize> outputs;
#pragma unroll
    for (int i = 0; i < kSize; ++i) activate(sums[i], activation, outputs.values[i]);
    *outputs_of<kSize>(token, channel) = outputs;
  }
  template <int kSize>
  __device__ Channels<T, kSize>* outputs_of(std::int64_t token, std::int32_t channel) const {
    return reinterpret_cast<Channels<T, kSize>*>(y + token * dim + channel);
  }
};

// The gates of the short convolution, which has no activation.
struct GatedTokens {
  using Element = float;
  const float* BCx = nullptr;
  float* y = nullptr;
  std::int32_t dim = 0;

  template <int kSize>
  __device__ Channels<float, kSize> input(std::int64_t token, std::int32_t channel) const {
    static_assert(kSize == 1);
    const float* at = BCx + token * 3 * dim + channel;
    return {{at[0] * at[2 * dim]}};
  }
  template <int kSize>
  __device__ void output(std::int64_t token, std::int32_t channel, const float (&sums)[kSize],
                         ConvActivation) const {
    y[token * dim + channel] = sums[0] * BCx[(token * 3 + 1) * dim + channel];
  }
  template <int kSize>
  __device__ Channels<float, kSize>* outputs_of(std::int64_t token, std::int32_t channel) const {
    return reinterpret_cast<Channels<float, kSize>*>(y + token * dim + channel);
  }
};

template <class Tokens, class Rows>
struct ConvTask {
  ConvLayer layer;
  Rows rows;
  DevicePool<typename Tokens::Element> pool;
  Tokens tokens;
  std::int32_t num_tokens = 0;
};

// Weights of a few channels, and the positions that a row's next token sees.
template <int kWidth, int kSize, class T>
class ConvWindow {
 public:
  using Position = Channels<T, kSize>;

  __device__ ConvWindow(const ConvLayer& layer, std::int32_t channel)
      : dim_(layer.dim), channel_(channel) {
    const auto* weights = reinterpret_cast<const Weights*>(layer.weight.data()) + channel;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      weights_[i] = weights[i];
      bias_[i] = layer.bias.empty() ? 0.0F : layer.bias[static_cast<std::size_t>(channel + i)];
    }
  }
  // What the tokens before a row are: positions [offset, offset + W - 1) of a block, NaN behind its
  // `state_len` positions; null: zeros.
  __device__ void begin(const T* block, std::int32_t offset, std::int32_t state_len) {
#pragma unroll
    for (int p = 0; p < kWidth - 1; ++p) {
      positions_[p] = {};
      if (block == nullptr) continue;
      if (offset + p < state_len)
        positions_[p] = *at(block, offset + p);
      else
        positions_[p] = not_a_number();
    }
  }
  // Of a row that rolls its block as if it had `rolled` tokens (ConvLayer::rolled_tokens):
  // positions that count from rolled - q + 1 on, where 0 is the oldest of begin(). Before the first
  // token.
  template <class Tokens>
  __device__ void roll(T* block, const ConvLayer& layer, const BatchTokens& row,
                       const Tokens& tokens) const {
    const std::int32_t first = layer.rolled_tokens - row.size() + 1;
    const std::int32_t count =
        min(kWidth - 2 + 2 * row.size() - layer.rolled_tokens, layer.state_len);
    for (std::int32_t i = 0; i < count; ++i) {
      const std::int32_t from = first + i;
      Position position =
          tokens.template input<kSize>(row.first + max(from - (kWidth - 1), 0), channel_);
#pragma unroll
      for (int p = 0; p < kWidth - 1; ++p)
        if (p == from) position = positions_[p];
      *at(block, i) = position;
    }
  }
  // The sums of the next token, which becomes the newest position.
  __device__ void convolve(const Position& token, float (&sums)[kSize]) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      sums[i] = bias_[i];
#pragma unroll
      for (int p = 0; p < kWidth - 1; ++p)
        sums[i] += to_float(positions_[p].values[i]) * weights_[i].values[p];
      sums[i] += to_float(token.values[i]) * weights_[i].values[kWidth - 1];
    }
#pragma unroll
    for (int p = 0; p + 1 < kWidth - 1; ++p) positions_[p] = positions_[p + 1];
    positions_[kWidth - 2] = token;
  }
  // Writes the positions from `first` of the window on to the block's from 0 on.
  __device__ void store(T* block, int first) const {
#pragma unroll
    for (int p = 0; p < kWidth - 1; ++p)
      if (p >= first) *at(block, p - first) = positions_[p];
  }
  __device__ void store_position(T* block, std::int32_t position, const Position& token) const {
    *at(block, position) = token;
  }

 private:
  __device__ static Position not_a_number() {
    Position position;
#pragma unroll
    for (int i = 0; i < kSize; ++i) position.values[i] = from_float<T>(__int_as_float(0x7FC00000));
    return position;
  }
  // One channel alone may lie anywhere; several are aligned (is_aligned).
  struct alignas(kSize == 1 || kWidth == 3 ? 4 : 4 * kWidth) Weights {
    float values[kWidth];
  };
  template <class Block>
  __device__ auto at(Block* block, std::int32_t position) const {
    using Pointer = std::conditional_t<std::is_const_v<Block>, const Position*, Position*>;
    return reinterpret_cast<Pointer>(block + static_cast<std::int64_t>(position) * dim_ + channel_);
  }

  std::int32_t dim_;
  std::int32_t channel_;
  Weights weights_[kSize];
  float bias_[kSize];
  Position positions_[kWidth - 1];
};

// Rows of a thread, which loads the weights of its channels once.
inline constexpr int kConvRows = 2;

// Groups of rows, the last for the tokens behind them.
template <class Rows>
__host__ __device__ int conv_groups(const Rows& rows) {
  return (rows.num_rows() + kConvRows - 1) / kConvRows + 1;
}

// What a thread does: groups lie side by side in the grid, so that threads which run together share
// weights.
struct ConvPlace {
  std::int32_t first_row = 0;  // of kConvRows
  std::int32_t channel = 0;    // of kSize
};
template <int kSize, class Rows>
__device__ ConvPlace conv_place(const Rows& rows) {
  const int num_groups = conv_groups(rows);
  const int thread =
      static_cast<int>(blockIdx.x) / num_groups * kConvThreads + static_cast<int>(threadIdx.x);
  return {static_cast<int>(blockIdx.x) % num_groups * kConvRows, thread * kSize};
}

// Zeroes the outputs of tokens [first, last).
template <int kSize, class Tokens>
__device__ void zero_tokens(const Tokens& tokens, std::int32_t first, std::int32_t last,
                            std::int32_t channel) {
  for (std::int32_t token = first; token < last; ++token)
    *tokens.template outputs_of<kSize>(token, channel) = {};
}

template <int kWidth, int kSize, class Tokens>
__global__ void __launch_bounds__(kConvThreads)
    conv_rows(const __grid_constant__ ConvTask<Tokens, DecodeRows> task) {
  using T = typename Tokens::Element;
  const auto [first_row, channel] = conv_place<kSize>(task.rows);
  if (channel >= task.layer.dim) return;
  if (first_row >= task.rows.num_rows())
    return zero_tokens<kSize>(task.tokens, end_of_rows(task.rows), task.num_tokens, channel);
  ConvWindow<kWidth, kSize, T> window(task.layer, channel);
  const bool has_counts = !task.rows.num_accepted_tokens.empty();
  const std::int32_t last_row = min(first_row + kConvRows, task.rows.num_rows());
  for (std::int32_t row = first_row; row < last_row; ++row) {
    const BatchTokens tokens = task.rows.tokens(row);
    if (tokens.size() <= 0) continue;
    const std::int32_t source = task.rows.conv_source(row);
    if (!is_state_block(source)) {
      zero_tokens<kSize>(task.tokens, tokens.first, tokens.last, channel);
      continue;
    }
    const std::int32_t destination = task.rows.destination(row, 0);
    T* to = is_state_block(destination) ? task.pool.block(destination) : nullptr;
    const bool rolls = has_counts && tokens.size() < task.layer.rolled_tokens;
    window.begin(task.pool.block(source), task.rows.offset(row), task.layer.state_len);
    auto next = task.tokens.template input<kSize>(tokens.first, channel);
    // With counts: W - 2 old tokens and all of the row's; which of them count is not known yet.
    if (rolls && to != nullptr) window.roll(to, task.layer, tokens, task.tokens);
    if (rolls) to = nullptr;  // nothing else is stored
    if (has_counts && to != nullptr) window.store(to, 1);
    for (std::int32_t t = 0; t < tokens.size(); ++t) {
      const auto token = next;
      if (t + 1 < tokens.size())
        next = task.tokens.template input<kSize>(tokens.first + t + 1, channel);
      float sums[kSize];
      window.convolve(token, sums);
      task.tokens.template output<kSize>(tokens.first + t, channel, sums, task.layer.activation);
      const std::int32_t position = kWidth - 2 + t;
      if (has_counts && to != nullptr && position < task.layer.state_len)
        window.store_position(to, position, token);
    }
    if (!has_counts && to != nullptr) window.store(to, 0);
  }
}

template <int kWidth, int kSize, class Tokens>
__global__ void __launch_bounds__(kConvThreads)
    conv_rows(const __grid_constant__ ConvTask<Tokens, PrefillRows> task) {
  const auto [first_row, channel] = conv_place<kSize>(task.rows);
  if (channel >= task.layer.dim) return;
  if (first_row >= task.rows.num_rows())
    return zero_tokens<kSize>(task.tokens, end_of_rows(task.rows), task.num_tokens, channel);
  ConvWindow<kWidth, kSize, typename Tokens::Element> window(task.layer, channel);
  const std::int32_t last_row = min(first_row + kConvRows, task.rows.num_rows());
  for (std::int32_t row = first_row; row < last_row; ++row) {
    RowWalk<PrefillRows> walk(task.rows, row, true);
    const BatchTokens tokens = walk.tokens();
    if (tokens.size() <= 0) continue;
    window.begin(is_state_block(walk.source()) ? task.pool.block(walk.source()) : nullptr, 0,
                 task.layer.state_len);
    const auto store = [&](std::int32_t block) {
      if (is_state_block(block)) window.store(task.pool.block(block), 0);
    };
    auto next = task.tokens.template input<kSize>(tokens.first, channel);
    for (std::int32_t t = 0; t < tokens.size(); ++t) {
      const auto token = next;
      if (t + 1 < tokens.size())
        next = task.tokens.template input<kSize>(tokens.first + t + 1, channel);
      float sums[kSize];
      window.convolve(token, sums);
      task.tokens.template output<kSize>(tokens.first + t, channel, sums, task.layer.activation);
      store(walk.after(t));
    }
    store(walk.last());
  }
}

}  // namespace hybridscope::numeric_cuda
