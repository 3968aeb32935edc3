#include "core/numeric/hybrid_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/result.h"

namespace hybridscope {
namespace {

struct SizeOf {
  LayerStateSize operator()(const Mamba2Mixer& mixer) const {
    const Mamba2Layer& layer = mixer.recurrence;
    return {.conv_dim = mixer.conv.dim,
            .conv_width = mixer.conv.width,
            .temporal = std::int64_t{layer.num_heads} * layer.head_dim * layer.state_size};
  }
  LayerStateSize operator()(const GatedDeltaNetMixer& mixer) const {
    const DeltaRuleLayer& layer = mixer.recurrence;
    return {.conv_dim = mixer.conv.dim,
            .conv_width = mixer.conv.width,
            .temporal = std::int64_t{layer.num_value_heads} * layer.value_dim * layer.key_dim};
  }
  LayerStateSize operator()(const ShortConvMixer& mixer) const {
    return {.conv_dim = mixer.conv.dim, .conv_width = mixer.conv.width};
  }
  LayerStateSize operator()(const AttentionMixer& mixer) const {
    return {.keys_or_values = mixer.layer.num_kv_heads * mixer.layer.head_dim};
  }
};

}  // namespace

LayerStateSize layer_state_size(const HybridLayer& layer) {
  return std::visit(SizeOf{}, layer.mixer);
}

namespace {

std::vector<double> log_probabilities(std::span<const float> logits) {
  double most = -std::numeric_limits<double>::infinity();
  for (const float logit : logits) most = std::max(most, static_cast<double>(logit));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  std::vector<double> logs;
  for (const float logit : logits)
    logs.push_back(static_cast<double>(logit) - most - std::log(sum));
  return logs;
}

}  // namespace

std::int32_t greedy_token(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < logits.size(); ++i)
    if (logits[i] > logits[best] || std::isnan(logits[best])) best = i;
  return static_cast<std::int32_t>(best);
}

float logit_margin(std::span<const float> logits) {
  if (logits.size() < 2) return 0;
  const auto best = static_cast<std::size_t>(greedy_token(logits));
  float second = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (i != best) second = std::max(second, logits[i]);
  return logits[best] - second;
}

std::vector<TokenChance> likely_tokens(std::span<const float> logits, std::int32_t count) {
  const std::vector<double> logs = log_probabilities(logits);
  std::vector<TokenChance> tokens;
  for (std::size_t i = 0; i < logs.size(); ++i)
    if (!std::isnan(logs[i]))
      tokens.push_back({static_cast<std::int32_t>(i), static_cast<float>(std::exp(logs[i]))});
  const auto shown = std::min(tokens.size(), static_cast<std::size_t>(std::max(count, 0)));
  const auto before = [](const TokenChance& a, const TokenChance& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
  };
  std::partial_sort(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(shown),
                    tokens.end(), before);
  tokens.resize(shown);
  return tokens;
}

double kl_divergence(std::span<const float> reference, std::span<const float> other) {
  HS_EXPECT(reference.size() == other.size());
  const std::vector<double> p = log_probabilities(reference);
  const std::vector<double> r = log_probabilities(other);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::exp(p[i]) * (p[i] - r[i]);
  return std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum;
}

}  // namespace hybridscope
