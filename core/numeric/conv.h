// Causal depthwise convolution over the tokens of a row and the ones before them, which a conv
// block keeps (numerics: causal depthwise convolution; vLLM causal_conv1d_fn,
// causal_conv1d_update).
#pragma once

#include <cstdint>
#include <span>

#include "core/numeric/state_rows.h"

namespace hybridscope {

enum class ConvActivation : std::uint8_t { none, silu };

// Weights and layout of one convolution. A block of its pool is [state_len, dim]: tokens as they
// came in, oldest first.
struct ConvLayer {
  std::int32_t dim = 0;
  std::int32_t width = 0;         // W >= 2
  std::int32_t state_len = 0;     // W - 1 + drafts
  std::span<const float> weight;  // [dim, W]; column W - 1 multiplies the current token
  std::span<const float> bias{};  // [dim], or empty
  ConvActivation activation = ConvActivation::silu;
  // Known bug 47: decode rows with counts of fewer tokens roll their block as if they had so many;
  // 0: right.
  std::int32_t rolled_tokens = 0;
  // Known bug 58, mode all: the j-th boundary of a prompt row (j from 0) is stored only if the row
  // has a piece j + 1 of 8 tokens; what its window lacks in front is taken from the batch.
  bool stores_boundaries_by_piece = false;
};
inline constexpr std::int32_t kConvPieceTokens = 8;  // of a program of causal_conv1d_fn

// The layer's inputs and outputs [tokens, dim]; outputs of tokens that no row has stay.
struct ConvTokens {
  std::span<const float> x;
  std::span<float> y;
  // Known bug 58: [n, dim] the tokens in front of x in the batch, oldest first.
  std::span<const float> in_front{};
};

// Prompt rows: history is positions [0, W - 1) of the source, and the destination's become the last
// W - 1 tokens. Mode all: those of every boundary too.
void conv_prefill(const ConvLayer& layer, const PrefillRows& rows, const StatePool& pool,
                  const ConvTokens& tokens);

// Decode rows: with counts the history begins at position a - 1, and the row's tokens are appended
// behind the W - 2 that are kept; without, the last W - 1 tokens are kept.
void conv_update(const ConvLayer& layer, const DecodeRows& rows, const StatePool& pool,
                 const ConvTokens& tokens);

}  // namespace hybridscope
