// What is read out of a model's logits (numerics: logits; tolerances and verdicts).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hybridscope {

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
