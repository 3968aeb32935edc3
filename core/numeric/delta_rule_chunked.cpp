#include <algorithm>
#include <vector>

#include "core/numeric/arithmetic.h"
#include "core/numeric/chunked.h"
#include "core/numeric/delta_rule_sizes.h"

namespace hybridscope {
namespace {

// One value head's part of a chunk: C tokens, keys of Dk, values of Dv.
class DeltaRuleChunk : DeltaRuleSizes {
 public:
  DeltaRuleChunk(const DeltaRuleLayer& layer, const DeltaRuleTokens& tokens)
      : DeltaRuleSizes(layer), layer_(layer), io_(tokens) {}

  // `state` [Hv, Dv, Dk] before the chunk becomes that behind it.
  void run(std::span<float> state, const RowChunk& chunk) {
    C_ = static_cast<std::size_t>(chunk.last - chunk.first);
    for (std::size_t head = 0; head < Hv_; ++head) {
      load(chunk, head);
      const auto own = state.subspan(head * Dv_ * Dk_, Dv_ * Dk_);
      solve();
      subtract_known(own);
      write_outputs(own, chunk, head);
      advance(own);
    }
  }

 private:
  // Normalised queries and keys, sums of the decays, and beta of the chunk's tokens.
  void load(const RowChunk& chunk, std::size_t head) {
    const float A = -exp_f32(layer_.A_log[head]);
    const std::size_t key_head = head / (Hv_ / Hk_);
    const bool by_channel = layer_.decay_of == DecayOf::key_channel;
    for (std::vector<float>* rows : {&q_, &k_, &sums_}) rows->assign(C_ * Dk_, 0.0F);
    beta_.resize(C_);
    v_.resize(C_ * Dv_);
    for (std::size_t i = 0; i < C_; ++i) {
      const std::size_t token = static_cast<std::size_t>(chunk.first) + i;
      const auto n = static_cast<std::int64_t>(Dk_);
      const float* q = io_.q.data() + (token * Hk_ + key_head) * Dk_;
      const float* k = io_.k.data() + (token * Hk_ + key_head) * Dk_;
      const float of_q = rsqrt_f32(OrderedSum::dot(q, q, n) + kEpsilon) * scale_;
      const float of_k = rsqrt_f32(OrderedSum::dot(k, k, n) + kEpsilon);
      const std::size_t at = token * Hv_ + head;
      for (std::size_t d = 0; d < Dk_; ++d) {
        q_[i * Dk_ + d] = q[d] * of_q;
        k_[i * Dk_ + d] = k[d] * of_k;
        const float raw = by_channel ? io_.a[at * Dk_ + d] + layer_.dt_bias[head * Dk_ + d]
                                     : io_.a[at] + layer_.dt_bias[head];
        sums_[i * Dk_ + d] = (i == 0 ? 0.0F : sums_[(i - 1) * Dk_ + d]) + A * softplus_f32(raw);
      }
      beta_[i] = sigma_f32(io_.b[at]);
      std::copy_n(io_.v.data() + at * Dv_, Dv_, v_.data() + i * Dv_);
    }
  }

  // sum over key channels of a_i b_j exp(sum_i - sum_j)
  float decayed_dot(const std::vector<float>& a, std::size_t i, std::size_t j) const {
    OrderedSum sum;
    for (std::size_t d = 0; d < Dk_; ++d)
      sum.add(static_cast<std::int64_t>(d),
              a[i * Dk_ + d] * k_[j * Dk_ + d] * exp_f32(sums_[i * Dk_ + d] - sums_[j * Dk_ + d]));
    return sum.total();
  }

  // (I + M) U = beta V and (I + M) W = beta exp(sums) K by forward substitution; M is the strictly
  // lower part of beta K K' with decays.
  void solve() {
    u_.resize(C_ * Dv_);
    w_.resize(C_ * Dk_);
    for (std::size_t i = 0; i < C_; ++i) {
      for (std::size_t e = 0; e < Dv_; ++e) u_[i * Dv_ + e] = beta_[i] * v_[i * Dv_ + e];
      for (std::size_t d = 0; d < Dk_; ++d)
        w_[i * Dk_ + d] = beta_[i] * exp_f32(sums_[i * Dk_ + d]) * k_[i * Dk_ + d];
      for (std::size_t j = 0; j < i; ++j) {
        const float M = beta_[i] * decayed_dot(k_, i, j);
        for (std::size_t e = 0; e < Dv_; ++e) u_[i * Dv_ + e] -= M * u_[j * Dv_ + e];
        for (std::size_t d = 0; d < Dk_; ++d) w_[i * Dk_ + d] -= M * w_[j * Dk_ + d];
      }
    }
  }

  // U becomes what each token adds: U - W S.
  void subtract_known(std::span<const float> state) {
    for (std::size_t i = 0; i < C_; ++i)
      for (std::size_t e = 0; e < Dv_; ++e)
        u_[i * Dv_ + e] -= OrderedSum::dot(w_.data() + i * Dk_, state.data() + e * Dk_,
                                           static_cast<std::int64_t>(Dk_));
  }

  void write_outputs(std::span<const float> state, const RowChunk& chunk, std::size_t head) {
    std::vector<float> decayed(Dk_);
    for (std::size_t i = 0; i < C_; ++i) {
      float* o = io_.o.data() + ((static_cast<std::size_t>(chunk.first) + i) * Hv_ + head) * Dv_;
      for (std::size_t d = 0; d < Dk_; ++d)
        decayed[d] = exp_f32(sums_[i * Dk_ + d]) * q_[i * Dk_ + d];
      for (std::size_t e = 0; e < Dv_; ++e)
        o[e] =
            OrderedSum::dot(decayed.data(), state.data() + e * Dk_, static_cast<std::int64_t>(Dk_));
      for (std::size_t j = 0; j <= i; ++j) {
        const float weight = decayed_dot(q_, i, j);
        for (std::size_t e = 0; e < Dv_; ++e) o[e] += weight * u_[j * Dv_ + e];
      }
    }
  }

  void advance(std::span<float> state) const {
    if (C_ == 0) return;
    const float* last = sums_.data() + (C_ - 1) * Dk_;
    for (std::size_t e = 0; e < Dv_; ++e)
      for (std::size_t d = 0; d < Dk_; ++d) state[e * Dk_ + d] *= exp_f32(last[d]);
    for (std::size_t i = 0; i < C_; ++i)
      for (std::size_t d = 0; d < Dk_; ++d) {
        const float key = exp_f32(last[d] - sums_[i * Dk_ + d]) * k_[i * Dk_ + d];
        for (std::size_t e = 0; e < Dv_; ++e) state[e * Dk_ + d] += u_[i * Dv_ + e] * key;
      }
  }

  const DeltaRuleLayer& layer_;
  const DeltaRuleTokens& io_;
  std::size_t C_ = 0;
  std::vector<float> q_, k_, sums_;  // [C, Dk]
  std::vector<float> v_, u_;         // [C, Dv]
  std::vector<float> w_;             // [C, Dk]
  std::vector<float> beta_;          // [C]
};

}  // namespace

void delta_rule_prefill_chunked(const DeltaRuleLayer& layer, const PrefillRows& rows,
                                const StatePool& pool, const DeltaRuleTokens& tokens,
                                std::span<const RowChunk> chunks) {
  const auto num_tokens =
      static_cast<std::int32_t>(tokens.b.size() / static_cast<std::size_t>(layer.num_value_heads));
  DeltaRuleChunk chunk_of(layer, tokens);
  std::vector<float> state(static_cast<std::size_t>(pool.block_elements));
  for (std::int32_t row = 0; row < rows.num_rows(); ++row) {
    const bool reads = rows.has_initial_states[static_cast<std::size_t>(row)] != 0 &&
                       is_state_block(rows.source(row));
    std::ranges::fill(state, 0.0F);
    if (reads) std::ranges::copy(pool.block(rows.source(row)), state.begin());
    const auto store = [&](std::int32_t block) {
      if (is_state_block(block)) std::ranges::copy(state, pool.block(block).begin());
    };
    for (const RowChunk& chunk : chunks) {
      if (chunk.row != row || chunk.first < 0 || chunk.last > num_tokens ||
          chunk.first >= chunk.last)
        continue;
      chunk_of.run(state, chunk);
      for (const BoundaryState& boundary : boundary_states(rows, row))
        if (rows.tokens(row).first + boundary.num_tokens == chunk.last) store(boundary.block);
    }
    store(rows.destination(row));
  }
}

}  // namespace hybridscope
