// The recurrence of Mamba2 layers (numerics: Mamba2; vLLM selective_state_update,
// mamba_chunk_scan_combined_varlen).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/numeric/state_rows.h"

namespace hybridscope {

// Head h uses group h / (H / G). A block of the pool is [H, P, N].
struct Mamba2Layer {
  std::int32_t num_heads = 0;      // H
  std::int32_t head_dim = 0;       // P
  std::int32_t state_size = 0;     // N
  std::int32_t num_groups = 0;     // G
  std::span<const float> A_log;    // [H]
  std::span<const float> D;        // [H]
  std::span<const float> dt_bias;  // [H]
  // The softplus of dt + dt_bias is kept inside; infinite: no limit.
  float dt_min = 0;
  float dt_max = 0;
  bool has_dt_limit = false;
};

struct Mamba2Tokens {
  std::span<const float> x;   // [tokens, H, P]
  std::span<const float> dt;  // [tokens, H] as projected
  std::span<const float> B;   // [tokens, G, N]
  std::span<const float> C;   // [tokens, G, N]
  std::span<float> y;         // [tokens, H, P]; outputs of tokens that no row has stay
};

void mamba2_update(const Mamba2Layer& layer, const DecodeRows& rows, const StatePool& pool,
                   const Mamba2Tokens& tokens);
// Form recurrent. `prep_initial_states` false: no row reads an initial state.
void mamba2_prefill(const Mamba2Layer& layer, const PrefillRows& rows, const StatePool& pool,
                    const Mamba2Tokens& tokens, bool prep_initial_states);

}  // namespace hybridscope
