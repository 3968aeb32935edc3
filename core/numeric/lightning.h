// The recurrence of lightning attention (numerics: lightning attention; vLLM
// linear_attention_decode, lightning_attention).
#pragma once

#include <cstdint>
#include <span>

#include "core/numeric/state_rows.h"

namespace hybridscope {

// A block of the pool is [H, D, D]; the first D is the key's.
struct LightningLayer {
  std::int32_t num_heads = 0;   // H
  std::int32_t head_dim = 0;    // D
  std::span<const float> rate;  // [H] decay rates, above 0
};

struct LightningTokens {
  std::span<const float> q, k, v;  // [tokens, H, D]
  std::span<float> o;              // [tokens, H, D]; outputs of tokens that no row has stay
};

void lightning_update(const LightningLayer& layer, const DecodeRows& rows, const StatePool& pool,
                      const LightningTokens& tokens);
// Form recurrent.
void lightning_prefill(const LightningLayer& layer, const PrefillRows& rows, const StatePool& pool,
                       const LightningTokens& tokens);

}  // namespace hybridscope
