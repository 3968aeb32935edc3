// The recurrence of Mamba1 layers (numerics: Mamba1; vLLM selective_scan_fn,
// selective_state_update).
#pragma once

#include <cstdint>
#include <span>

#include "core/numeric/state_rows.h"

namespace hybridscope {

// A block of the pool is [I, N].
struct Mamba1Layer {
  std::int32_t intermediate_size = 0;  // I, channels
  std::int32_t state_size = 0;         // N
  std::span<const float> A_log;        // [I, N]
  std::span<const float> D;            // [I]
  std::span<const float> dt_bias;      // [I]
};

struct Mamba1Tokens {
  std::span<const float> x;      // [tokens, I] after the convolution
  std::span<const float> delta;  // [tokens, I] as projected, without its bias
  std::span<const float> B;      // [tokens, N]
  std::span<const float> C;      // [tokens, N]
  std::span<const float> z;      // [tokens, I] gate
  std::span<float> y;            // [tokens, I] gated; outputs of tokens that no row has stay
};

void mamba1_update(const Mamba1Layer& layer, const DecodeRows& rows, const StatePool& pool,
                   const Mamba1Tokens& tokens);
void mamba1_prefill(const Mamba1Layer& layer, const PrefillRows& rows, const StatePool& pool,
                    const Mamba1Tokens& tokens);

}  // namespace hybridscope
