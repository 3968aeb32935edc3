#include "core/numeric/recurrences.h"

#include <algorithm>
#include <vector>

#include "core/numeric/arithmetic.h"
#include "core/numeric/state_rows.h"

namespace hybridscope {
namespace {

class Mamba1Step {
 public:
  Mamba1Step(const Mamba1Layer& layer, const Mamba1Tokens& tokens) : layer_(layer), io_(tokens) {
    for (const float log : layer.A_log) A_.push_back(-exp_f32(log));
  }

  void operator()(std::span<float> state, std::int32_t token) const {
    const auto I = static_cast<std::size_t>(layer_.intermediate_size);
    const auto N = static_cast<std::size_t>(layer_.state_size);
    const auto t = static_cast<std::size_t>(token);
    const float* B = io_.B.data() + t * N;
    const float* C = io_.C.data() + t * N;
    for (std::size_t d = 0; d < I; ++d) {
      const float delta = softplus_f32(io_.delta[t * I + d] + layer_.dt_bias[d]);
      const float x = io_.x[t * I + d];
      float* row = state.data() + d * N;
      for (std::size_t n = 0; n < N; ++n)
        row[n] = row[n] * exp_f32(delta * A_[d * N + n]) + B[n] * delta * x;
      const float out = OrderedSum::dot(row, C, static_cast<std::int64_t>(N)) + x * layer_.D[d];
      io_.y[t * I + d] = out * silu_f32(io_.z[t * I + d]);
    }
  }

 private:
  const Mamba1Layer& layer_;
  const Mamba1Tokens& io_;
  std::vector<float> A_;  // [I, N]
};

}  // namespace

void mamba1_update(const Mamba1Layer& layer, const DecodeRows& rows, const StatePool& pool,
                   const Mamba1Tokens& tokens) {
  run_decode_rows(rows, pool, Mamba1Step(layer, tokens));
}

void mamba1_prefill(const Mamba1Layer& layer, const PrefillRows& rows, const StatePool& pool,
                    const Mamba1Tokens& tokens) {
  run_prefill_rows(rows, pool, true, Mamba1Step(layer, tokens));
}

namespace {

std::size_t size_of(std::int32_t n) { return static_cast<std::size_t>(n); }

class Mamba2Step {
 public:
  Mamba2Step(const Mamba2Layer& layer, const Mamba2Tokens& tokens) : layer_(layer), io_(tokens) {
    for (const float log : layer.A_log) A_.push_back(-exp_f32(log));
    inputs_.resize(size_of(layer.state_size));
  }

  void operator()(std::span<float> state, std::int32_t token) {
    const std::size_t heads = size_of(layer_.num_heads);
    const std::size_t per_group = heads / size_of(layer_.num_groups);
    for (std::size_t head = 0; head < heads; ++head)
      fold_head(state, size_of(token) * heads + head,
                size_of(token) * size_of(layer_.num_groups) + head / per_group, head);
  }

 private:
  // `at`: of the token's head in dt and x; `group`: of the token's group in B and C.
  void fold_head(std::span<float> state, std::size_t at, std::size_t group, std::size_t head) {
    const std::size_t N = size_of(layer_.state_size);
    const std::size_t P = size_of(layer_.head_dim);
    float dt = softplus_f32(io_.dt[at] + layer_.dt_bias[head]);
    if (layer_.has_dt_limit) dt = std::clamp(dt, layer_.dt_min, layer_.dt_max);
    const float decay = exp_f32(dt * A_[head]);
    const float* B = io_.B.data() + group * N;
    const float* C = io_.C.data() + group * N;
    for (std::size_t n = 0; n < N; ++n) inputs_[n] = B[n] * dt;
    for (std::size_t p = 0; p < P; ++p) {
      const float x = io_.x[at * P + p];
      float* row = state.data() + (head * P + p) * N;
      for (std::size_t n = 0; n < N; ++n) row[n] = row[n] * decay + inputs_[n] * x;
      io_.y[at * P + p] =
          OrderedSum::dot(row, C, static_cast<std::int64_t>(N)) + x * layer_.D[head];
    }
  }

  const Mamba2Layer& layer_;
  const Mamba2Tokens& io_;
  std::vector<float> A_;       // [H]
  std::vector<float> inputs_;  // [N] B * dt of one head
};

}  // namespace

void mamba2_update(const Mamba2Layer& layer, const DecodeRows& rows, const StatePool& pool,
                   const Mamba2Tokens& tokens) {
  run_decode_rows(rows, pool, Mamba2Step(layer, tokens));
}

void mamba2_prefill(const Mamba2Layer& layer, const PrefillRows& rows, const StatePool& pool,
                    const Mamba2Tokens& tokens, bool prep_initial_states) {
  run_prefill_rows(rows, pool, prep_initial_states, Mamba2Step(layer, tokens));
}

namespace {

class LightningStep {
 public:
  LightningStep(const LightningLayer& layer, const LightningTokens& tokens)
      : layer_(layer), io_(tokens) {
    for (const float rate : layer.rate) ratio_.push_back(exp_f32(-rate));
  }

  void operator()(std::span<float> state, std::int32_t token) const {
    const auto H = static_cast<std::size_t>(layer_.num_heads);
    const auto D = static_cast<std::size_t>(layer_.head_dim);
    for (std::size_t head = 0; head < H; ++head) {
      const std::size_t at = (static_cast<std::size_t>(token) * H + head) * D;
      float* kv = state.data() + head * D * D;
      for (std::size_t i = 0; i < D; ++i)
        for (std::size_t j = 0; j < D; ++j)
          kv[i * D + j] = kv[i * D + j] * ratio_[head] + io_.k[at + i] * io_.v[at + j];
      for (std::size_t j = 0; j < D; ++j) {
        OrderedSum sum;
        for (std::size_t i = 0; i < D; ++i)
          sum.add(static_cast<std::int64_t>(i), io_.q[at + i] * kv[i * D + j]);
        io_.o[at + j] = sum.total();
      }
    }
  }

 private:
  const LightningLayer& layer_;
  const LightningTokens& io_;
  std::vector<float> ratio_;  // [H]
};

}  // namespace

void lightning_update(const LightningLayer& layer, const DecodeRows& rows, const StatePool& pool,
                      const LightningTokens& tokens) {
  run_decode_rows(rows, pool, LightningStep(layer, tokens));
}

void lightning_prefill(const LightningLayer& layer, const PrefillRows& rows, const StatePool& pool,
                       const LightningTokens& tokens) {
  run_prefill_rows(rows, pool, true, LightningStep(layer, tokens));
}

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
