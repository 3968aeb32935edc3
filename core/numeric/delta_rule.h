// The gated delta rule: layers of GatedDeltaNet, one decay a head, and of KDA, one a key channel
// (numerics: GatedDeltaNet, KDA; vLLM fused_recurrent_gated_delta_rule, chunk_gated_delta_rule,
// fused_sigmoid_gating_delta_rule_update).
#pragma once

#include <cstdint>
#include <span>

#include "core/numeric/state_rows.h"

namespace hybridscope {

enum class DecayOf : std::uint8_t { head, key_channel };

// Value head h uses key head h / (Hv / Hk). A block of the pool is [Hv, Dv, Dk].
struct DeltaRuleLayer {
  std::int32_t num_key_heads = 0;    // Hk
  std::int32_t num_value_heads = 0;  // Hv
  std::int32_t key_dim = 0;          // Dk
  std::int32_t value_dim = 0;        // Dv
  DecayOf decay_of = DecayOf::head;
  std::span<const float> A_log;    // [Hv]
  std::span<const float> dt_bias;  // [Hv], for key channels [Hv, Dk]
};

struct DeltaRuleTokens {
  std::span<const float> q;  // [tokens, Hk, Dk] not normalised
  std::span<const float> k;  // [tokens, Hk, Dk] not normalised
  std::span<const float> v;  // [tokens, Hv, Dv]
  std::span<const float> a;  // [tokens, Hv], for key channels [tokens, Hv, Dk]: of the decay
  std::span<const float> b;  // [tokens, Hv] before the sigmoid
  std::span<float> o;        // [tokens, Hv, Dv]; outputs of tokens that no row has stay
};

void delta_rule_update(const DeltaRuleLayer& layer, const DecodeRows& rows, const StatePool& pool,
                       const DeltaRuleTokens& tokens);
// Form recurrent.
void delta_rule_prefill(const DeltaRuleLayer& layer, const PrefillRows& rows, const StatePool& pool,
                        const DeltaRuleTokens& tokens);

}  // namespace hybridscope
