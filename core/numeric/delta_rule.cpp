#include "core/numeric/delta_rule.h"

#include <vector>

#include "core/numeric/arithmetic.h"
#include "core/numeric/delta_rule_sizes.h"
#include "core/numeric/recurrence.h"

namespace hybridscope {
namespace {

class DeltaRuleStep : DeltaRuleSizes {
 public:
  DeltaRuleStep(const DeltaRuleLayer& layer, const DeltaRuleTokens& tokens)
      : DeltaRuleSizes(layer), layer_(layer), io_(tokens), q_(Dk_), k_(Dk_), decay_(Dk_) {
    for (const float log : layer.A_log) A_.push_back(-exp_f32(log));
  }

  void operator()(std::span<float> state, std::int32_t token) {
    const auto t = static_cast<std::size_t>(token);
    const std::size_t per_key_head = Hv_ / Hk_;
    for (std::size_t head = 0; head < Hv_; ++head) {
      if (head % per_key_head == 0) load_keys(t * Hk_ + head / per_key_head);
      set_decay(t, head);
      fold_head(state.data() + head * Dv_ * Dk_, t * Hv_ + head);
    }
  }

 private:
  // The normalised query, scaled, and key; `at`: of the token's key head.
  void load_keys(std::size_t at) {
    const float* q = io_.q.data() + at * Dk_;
    const float* k = io_.k.data() + at * Dk_;
    const float of_q = rsqrt_f32(OrderedSum::dot(q, q, length()) + kEpsilon);
    const float of_k = rsqrt_f32(OrderedSum::dot(k, k, length()) + kEpsilon);
    for (std::size_t i = 0; i < Dk_; ++i) q_[i] = q[i] * of_q * scale_;
    for (std::size_t i = 0; i < Dk_; ++i) k_[i] = k[i] * of_k;
  }

  void set_decay(std::size_t token, std::size_t head) {
    const std::size_t at = token * Hv_ + head;
    if (layer_.decay_of == DecayOf::head) {
      const float g = A_[head] * softplus_f32(io_.a[at] + layer_.dt_bias[head]);
      decay_.assign(Dk_, exp_f32(g));
      return;
    }
    for (std::size_t i = 0; i < Dk_; ++i)
      decay_[i] =
          exp_f32(A_[head] * softplus_f32(io_.a[at * Dk_ + i] + layer_.dt_bias[head * Dk_ + i]));
  }

  // `state`: [Dv, Dk] of the head; `at`: of the token's value head.
  void fold_head(float* state, std::size_t at) const {
    const float beta = sigma_f32(io_.b[at]);
    for (std::size_t v = 0; v < Dv_; ++v) {
      float* row = state + v * Dk_;
      for (std::size_t i = 0; i < Dk_; ++i) row[i] *= decay_[i];
      const float known = OrderedSum::dot(row, k_.data(), length());
      const float delta = (io_.v[at * Dv_ + v] - known) * beta;
      for (std::size_t i = 0; i < Dk_; ++i) row[i] += delta * k_[i];
      io_.o[at * Dv_ + v] = OrderedSum::dot(row, q_.data(), length());
    }
  }

  std::int64_t length() const { return static_cast<std::int64_t>(Dk_); }

  const DeltaRuleLayer& layer_;
  const DeltaRuleTokens& io_;
  std::vector<float> A_;      // [Hv]
  std::vector<float> q_, k_;  // [Dk] of one token's key head
  std::vector<float> decay_;  // [Dk] of one token's value head
};

}  // namespace

void delta_rule_update(const DeltaRuleLayer& layer, const DecodeRows& rows, const StatePool& pool,
                       const DeltaRuleTokens& tokens) {
  run_decode_rows(rows, pool, DeltaRuleStep(layer, tokens));
}

void delta_rule_prefill(const DeltaRuleLayer& layer, const PrefillRows& rows, const StatePool& pool,
                        const DeltaRuleTokens& tokens) {
  run_prefill_rows(rows, pool, true, DeltaRuleStep(layer, tokens));
}

}  // namespace hybridscope
