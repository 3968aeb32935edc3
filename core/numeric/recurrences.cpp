#include "core/numeric/recurrences.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/math.h"
#include "core/numeric/arithmetic.h"

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

namespace {

// The W - 1 tokens before a row, oldest first, followed by the row's own.
class Window {
 public:
  explicit Window(const ConvLayer& layer)
      : layer_(layer), dim_(static_cast<std::size_t>(layer.dim)) {}

  // Positions [offset, offset + W - 1) of `block`; those behind its end are NaN. Empty: zeros.
  void begin(std::span<const float> block, std::int32_t offset) {
    values_.assign(history_tokens() * dim_, 0.0F);
    if (block.empty()) return;
    const std::size_t first = std::min(static_cast<std::size_t>(offset) * dim_, block.size());
    const std::size_t count = std::min(values_.size(), block.size() - first);
    std::ranges::fill(values_, std::numeric_limits<float>::quiet_NaN());
    std::ranges::copy(block.subspan(first, count), values_.begin());
  }
  void append(std::span<const float> tokens) {
    values_.insert(values_.end(), tokens.begin(), tokens.end());
  }
  // The W - 1 tokens that a row has behind it after `num_tokens` of its own.
  std::span<const float> after(std::int32_t num_tokens) const {
    return values().subspan(static_cast<std::size_t>(num_tokens) * dim_, history_tokens() * dim_);
  }
  // `count` tokens from `first` on, where 0 is the oldest of the history.
  std::span<const float> slice(std::int32_t first, std::int32_t count) const {
    if (count == 0) return {};
    return values().subspan(static_cast<std::size_t>(first) * dim_,
                            static_cast<std::size_t>(count) * dim_);
  }
  // y becomes the convolution at the row's token t.
  void convolve(std::int32_t t, std::span<float> y) const {
    const auto width = static_cast<std::size_t>(layer_.width);
    const float* oldest = values_.data() + static_cast<std::size_t>(t) * dim_;
    for (std::size_t channel = 0; channel < dim_; ++channel) {
      float sum = layer_.bias.empty() ? 0.0F : layer_.bias[channel];
      for (std::size_t tap = 0; tap < width; ++tap)
        sum += oldest[tap * dim_ + channel] * layer_.weight[channel * width + tap];
      y[channel] = layer_.activation == ConvActivation::silu ? silu_f32(sum) : sum;
    }
  }

 private:
  std::size_t history_tokens() const { return static_cast<std::size_t>(layer_.width - 1); }
  std::span<const float> values() const { return values_; }

  const ConvLayer& layer_;
  std::size_t dim_;
  std::vector<float> values_;  // [W - 1 + row's tokens, dim]
};

void convolve_row(const Window& window, const BatchTokens& range, std::size_t dim,
                  std::span<float> y) {
  for (std::int32_t t = 0; t < range.size(); ++t)
    window.convolve(t, y.subspan(static_cast<std::size_t>(range.first + t) * dim, dim));
}

std::span<const float> tokens_of(const ConvLayer& layer, std::span<const float> x,
                                 const BatchTokens& range) {
  const auto dim = static_cast<std::size_t>(layer.dim);
  return x.subspan(static_cast<std::size_t>(range.first) * dim,
                   static_cast<std::size_t>(range.size()) * dim);
}

// Known bug 58: the W - 1 tokens before token `end` of x, whatever row they are of; what is not
// there either is NaN.
std::vector<float> batch_tokens_before(const ConvLayer& layer, const ConvTokens& tokens,
                                       std::int32_t end) {
  const auto dim = static_cast<std::size_t>(layer.dim);
  const auto in_front = static_cast<std::int32_t>(tokens.in_front.size() / dim);
  std::vector<float> window;
  for (std::int32_t t = end - layer.width + 1; t < end; ++t) {
    const bool is_in_x = t >= 0;
    const std::int32_t at = is_in_x ? t : in_front + t;
    if (at < 0) {
      window.insert(window.end(), dim, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const auto token =
        (is_in_x ? tokens.x : tokens.in_front).subspan(static_cast<std::size_t>(at) * dim, dim);
    window.insert(window.end(), token.begin(), token.end());
  }
  return window;
}

// Writes positions from `first` on; those that the block does not have are dropped.
void store(const StatePool& pool, std::int32_t block, std::span<const float> positions,
           std::size_t first) {
  if (!is_state_block(block)) return;
  const std::span<float> target = pool.block(block).subspan(first);
  const std::size_t count = std::min(positions.size(), target.size());
  std::ranges::copy(positions.first(count), target.begin());
}

}  // namespace

void conv_prefill(const ConvLayer& layer, const PrefillRows& rows, const StatePool& pool,
                  const ConvTokens& tokens) {
  Window window(layer);
  for (std::int32_t row = 0; row < rows.num_rows(); ++row) {
    const BatchTokens range = rows.tokens(row);
    if (range.size() <= 0) continue;
    const bool reads = rows.has_initial_state(row);
    window.begin(reads ? pool.block(rows.source(row)) : std::span<float>(), 0);
    window.append(tokens_of(layer, tokens.x, range));
    convolve_row(window, range, static_cast<std::size_t>(layer.dim), tokens.y);
    std::int32_t piece = 0;
    for (const BoundaryState& boundary : boundary_states(rows, row)) {
      if (!layer.stores_boundaries_by_piece || !rows.is_mode_all())
        store(pool, boundary.block, window.after(boundary.num_tokens), 0);
      else if (++piece < cdiv(range.size(), kConvPieceTokens))
        store(pool, boundary.block,
              batch_tokens_before(layer, tokens, range.first + boundary.num_tokens), 0);
    }
    store(pool, rows.destination(row), window.after(range.size()), 0);
  }
}

void conv_update(const ConvLayer& layer, const DecodeRows& rows, const StatePool& pool,
                 const ConvTokens& tokens) {
  Window window(layer);
  for (std::int32_t row = 0; row < rows.num_rows(); ++row) {
    const BatchTokens range = rows.tokens(row);
    if (range.size() <= 0) continue;
    const std::int32_t source = rows.conv_source(row);
    if (!is_state_block(source)) continue;
    window.begin(pool.block(source), rows.offset(row));
    window.append(tokens_of(layer, tokens.x, range));
    convolve_row(window, range, static_cast<std::size_t>(layer.dim), tokens.y);
    const std::int32_t destination = rows.destination(row, 0);
    if (rows.num_accepted_tokens.empty())
      store(pool, destination, window.after(range.size()), 0);
    else if (range.size() < layer.rolled_tokens)
      store(pool, destination,
            window.slice(layer.rolled_tokens - range.size() + 1,
                         std::max(layer.width - 2 + 2 * range.size() - layer.rolled_tokens, 0)),
            0);
    else  // W - 2 old tokens and all of the row's: which of them count is not known yet
      store(pool, destination, window.slice(1, layer.width - 2 + range.size()), 0);
  }
}

}  // namespace hybridscope
