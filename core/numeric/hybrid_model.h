// A language model of attention and recurrent layers: its weights, float32, by layer, and what is
// read out of its logits (numerics:
// architectures and weights).
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/numeric/dense_layers.h"
#include "core/numeric/recurrences.h"

namespace hybridscope {

// y = weight x + bias
struct Linear {
  std::span<const float> weight;  // [outputs, inputs]
  std::span<const float> bias{};  // [outputs], or empty
  std::int32_t outputs = 0;
};

// in_proj gives [z: H P | conv channels: H P + 2 G N | dt: H].
struct Mamba2Mixer {
  Linear in_proj;
  ConvLayer conv;
  Mamba2Layer recurrence;
  RmsNorm norm;  // [H P], each of the G groups with a mean of its own
  Linear out_proj;
};

struct GatedDeltaNetMixer {
  Linear in_proj_qkv;  // [q: Hk Dk | k: Hk Dk | v: Hv Dv], the conv channels
  Linear in_proj_z;    // [Hv, Dv]
  Linear in_proj_b;    // [Hv]
  Linear in_proj_a;    // [Hv]
  ConvLayer conv;
  DeltaRuleLayer recurrence;
  RmsNorm norm;  // [Dv] of one value head
  Linear out_proj;
};

// in_proj gives [B: dim | C: dim | x: dim]; the convolution runs over B x.
struct ShortConvMixer {
  Linear in_proj;
  ConvLayer conv;
  Linear out_proj;
};

struct AttentionMixer {
  AttentionLayer layer;  // its block size is the group's
  Linear q_proj;         // [H, D]; with a gate [H, 2, D]
  Linear k_proj;         // [Hkv, D]
  Linear v_proj;         // [Hkv, D]
  Linear o_proj;
  RmsNorm q_norm{};  // [D]; empty: none
  RmsNorm k_norm{};
  bool has_output_gate = false;
};

using Mixer = std::variant<Mamba2Mixer, GatedDeltaNetMixer, ShortConvMixer, AttentionMixer>;

struct GatedFeedForward {
  Linear gate;
  Linear up;
  Linear down;
};

struct HybridLayer {
  RmsNorm mixer_norm;
  Mixer mixer;
  RmsNorm feed_forward_norm;
  GatedFeedForward feed_forward;

  bool is_attention() const { return std::holds_alternative<AttentionMixer>(mixer); }
};

// What one token of a layer leaves behind, in elements.
struct LayerStateSize {
  std::int32_t conv_dim = 0;        // a conv position; 0: no convolution
  std::int32_t conv_width = 0;      // W
  std::int64_t temporal = 0;        // a temporal state; 0: none
  std::int32_t keys_or_values = 0;  // of one attention slot; 0: no attention
};
LayerStateSize layer_state_size(const HybridLayer& layer);

// Spans of its layers lie in `tensors`: moving it keeps them, copying would not.
struct HybridModel {
  HybridModel() = default;
  HybridModel(HybridModel&&) = default;
  HybridModel& operator=(HybridModel&&) = default;
  HybridModel(const HybridModel&) = delete;
  HybridModel& operator=(const HybridModel&) = delete;

  std::int32_t vocab_size = 0;
  std::int32_t hidden_size = 0;
  std::int32_t rotary_dim = 0;
  double rope_theta = 0;
  std::span<const float> embedding;  // [vocab, hidden]
  std::vector<HybridLayer> layers;
  RmsNorm final_norm;
  Linear lm_head;                           // the embedding where they are tied
  std::vector<std::vector<float>> tensors;  // everything above
};

// What is read out of a model's logits (numerics: logits; tolerances and verdicts).

// The smallest index among equal maxima; NaN is no maximum, the last index where all are NaN.
std::int32_t greedy_token(std::span<const float> logits);

// The best logit minus the second best; 0 of fewer than two.
float logit_margin(std::span<const float> logits);

// One token that may come next.
struct TokenChance {
  std::int32_t id = 0;
  float probability = 0;  // 0 to 1
  friend bool operator==(const TokenChance&, const TokenChance&) = default;
};
// The `count` most probable tokens, the most probable first, equal ones by id; fewer of a smaller
// vocabulary. Probabilities are computed in float64; logits that are no number have none.
std::vector<TokenChance> likely_tokens(std::span<const float> logits, std::int32_t count);

// KL(reference || other) of the two distributions, in nats, computed in float64. Requires: equal
// lengths. Infinite where a logit is no number.
double kl_divergence(std::span<const float> reference, std::span<const float> other);

}  // namespace hybridscope
