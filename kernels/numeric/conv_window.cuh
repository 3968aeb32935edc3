// What the convolution kernels share: tokens and their outputs, the weights of a few channels that
// lie side by side, and the last W - 1 tokens of a row in them, which a thread keeps.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/numeric/pool_rows.cuh"
#include "kernels/numeric/quick_exp.h"
#include "kernels/numeric/quick_silu_bf16.cuh"
#include "kernels/numeric/recurrences_cuda.h"

namespace hybridscope::numeric_cuda {

inline constexpr int kConvThreads = 128;

template <class T, int kSize>
using Channels = Pack<T, kSize>;

// The outputs of sums.
template <class T, int kSize>
__device__ Channels<T, kSize> activated(float (&sums)[kSize], ConvActivation activation) {
  if (activation == ConvActivation::silu) {
    if constexpr (std::is_same_v<T, Bf16>) {
      quick_silu_for_bf16(sums);
    } else {
#pragma unroll
      for (int i = 0; i < kSize; ++i) sums[i] = quick_silu_f32(sums[i]);
    }
  }
  return packed<T>(sums);
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
  __device__ void output(std::int64_t token, std::int32_t channel, float (&sums)[kSize],
                         ConvActivation activation) const {
    *outputs_of<kSize>(token, channel) = activated<T>(sums, activation);
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
  __device__ void output(std::int64_t token, std::int32_t channel, float (&sums)[kSize],
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

// Weights of a few channels.
template <int kWidth, int kSize>
class ConvWeights {
 public:
  __device__ ConvWeights(const ConvLayer& layer, std::int32_t channel) {
    const auto* weights = reinterpret_cast<const Taps*>(layer.weight.data()) + channel;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      taps_[i] = weights[i];
      bias_[i] = layer.bias.empty() ? 0.0F : layer.bias[static_cast<std::size_t>(channel + i)];
    }
  }
  __device__ float bias(int i) const { return bias_[i]; }
  __device__ float tap(int i, int position) const { return taps_[i].values[position]; }

 private:
  // One channel alone may lie anywhere; several are aligned (is_aligned).
  struct alignas(kSize == 1 || kWidth == 3 ? 4 : 4 * kWidth) Taps {
    float values[kWidth];
  };

  Taps taps_[kSize];
  float bias_[kSize];
};

// The positions that a row's next token sees, of a few channels. In a block they lie `dim` elements
// apart; pointers are to the channels in one of them.
template <int kWidth, int kSize, class T>
class ConvWindow {
 public:
  using Position = Channels<T, kSize>;

  // What the tokens before a row are: W - 1 positions, of which the block has `count`, and NaN
  // behind them; null: zeros.
  __device__ void begin(const T* positions, std::int64_t dim, std::int32_t count) {
#pragma unroll
    for (int p = 0; p < kWidth - 1; ++p) {
      positions_[p] = {};
      if (positions == nullptr) continue;
      if (p < count)
        positions_[p] = *reinterpret_cast<const Position*>(positions + p * dim);
      else
        positions_[p] = not_a_number();
    }
  }
  // Stores the window of a row that rolls its block as if it had `rolled` tokens
  // (ConvLayer::rolled_tokens): positions from rolled - q + 1 on, where 0 is the oldest of begin().
  // To be called before the first token; `input(t)`: the row's token t.
  template <class Input>
  __device__ void roll(T* to, const ConvLayer& layer, std::int32_t num_tokens,
                       const Input& input) const {
    const std::int32_t first = layer.rolled_tokens - num_tokens + 1;
    const std::int32_t count =
        min(kWidth - 2 + 2 * num_tokens - layer.rolled_tokens, layer.state_len);
    for (std::int32_t i = 0; i < count; ++i) {
      const std::int32_t from = first + i;
      Position position = input(max(from - (kWidth - 1), 0));
#pragma unroll
      for (int p = 0; p < kWidth - 1; ++p)
        if (p == from) position = positions_[p];
      *reinterpret_cast<Position*>(to + i * static_cast<std::int64_t>(layer.dim)) = position;
    }
  }
  // The sums of the next token, which becomes the newest position.
  __device__ void convolve(const ConvWeights<kWidth, kSize>& weights, const Position& token,
                           float (&sums)[kSize]) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) sums[i] = weights.bias(i);
#pragma unroll
    for (int p = 0; p < kWidth; ++p) {
      float values[kSize];
      unpack(p < kWidth - 1 ? positions_[p] : token, values);
#pragma unroll
      for (int i = 0; i < kSize; ++i) sums[i] += values[i] * weights.tap(i, p);
    }
#pragma unroll
    for (int p = 0; p + 1 < kWidth - 1; ++p) positions_[p] = positions_[p + 1];
    positions_[kWidth - 2] = token;
  }
  // Writes the window's positions from `first` on.
  __device__ void store(T* to, std::int64_t dim, int first) const {
#pragma unroll
    for (int p = 0; p < kWidth - 1; ++p)
      if (p >= first) *reinterpret_cast<Position*>(to + (p - first) * dim) = positions_[p];
  }

 private:
  __device__ static Position not_a_number() {
    float values[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i) values[i] = __int_as_float(0x7FC00000);
    return packed<T>(values);
  }

  Position positions_[kWidth - 1];
};

// A grid is [groups of kRows rows, and one for the tokens behind them; groups of channels].
template <int kRows, class Rows>
__host__ __device__ int conv_groups(const Rows& rows) {
  return (rows.num_rows() + kRows - 1) / kRows + 1;
}
template <int kSize>
__device__ std::int32_t conv_channel() {
  return static_cast<std::int32_t>(blockIdx.y * kConvThreads + threadIdx.x) * kSize;
}

// Zeroes the outputs of tokens [first, last).
template <int kSize, class Tokens>
__device__ void zero_tokens(const Tokens& tokens, std::int32_t first, std::int32_t last,
                            std::int32_t channel) {
  for (std::int32_t token = first; token < last; ++token)
    *tokens.template outputs_of<kSize>(token, channel) = {};
}

}  // namespace hybridscope::numeric_cuda
