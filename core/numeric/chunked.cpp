#include "core/numeric/recurrences.h"

#include <algorithm>
#include <vector>

#include "core/numeric/arithmetic.h"

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
  RunningState state(pool);
  for (std::int32_t row = 0; row < rows.num_rows(); ++row) {
    state.begin(rows, row, true);
    for (const RowChunk& chunk : chunks) {
      if (chunk.row != row || chunk.first < 0 || chunk.last > num_tokens ||
          chunk.first >= chunk.last)
        continue;
      chunk_of.run(state.values(), chunk);
      for (const BoundaryState& boundary : boundary_states(rows, row))
        if (rows.tokens(row).first + boundary.num_tokens == chunk.last) state.store(boundary.block);
    }
    state.store(rows.destination(row));
  }
}

namespace {

std::size_t as_index(std::int32_t n) { return static_cast<std::size_t>(n); }

// One layer's chunks, and the state that each leaves.
class Mamba2ChunkScan {
 public:
  Mamba2ChunkScan(const Mamba2Layer& layer, const Mamba2Tokens& tokens)
      : layer_(layer),
        io_(tokens),
        H_(as_index(layer.num_heads)),
        P_(as_index(layer.head_dim)),
        N_(as_index(layer.state_size)),
        G_(as_index(layer.num_groups)) {}

  // `state` [H, P, N] of the tokens before becomes that behind the chunk.
  void run(std::span<float> state, const BatchTokens& range) {
    for (std::size_t head = 0; head < H_; ++head) {
      load_gates(head, range);
      write_outputs(state.subspan(head * P_ * N_, P_ * N_), head, range);
      advance(state.subspan(head * P_ * N_, P_ * N_), head, range);
    }
  }

 private:
  std::span<const float> row(std::span<const float> table, std::int32_t token, std::size_t head) {
    const std::size_t group = head / (H_ / G_);
    return table.subspan((as_index(token) * G_ + group) * N_, N_);
  }
  float x(std::int32_t token, std::size_t head, std::size_t p) const {
    return io_.x[(as_index(token) * H_ + head) * P_ + p];
  }

  // dt and the running sum of dt A of each token of the chunk.
  void load_gates(std::size_t head, const BatchTokens& range) {
    const float A = -exp_f32(layer_.A_log[head]);
    dt_.clear();
    sums_.clear();
    float sum = 0;
    for (std::int32_t t = range.first; t < range.last; ++t) {
      float dt = softplus_f32(io_.dt[as_index(t) * H_ + head] + layer_.dt_bias[head]);
      if (layer_.has_dt_limit) dt = std::clamp(dt, layer_.dt_min, layer_.dt_max);
      dt_.push_back(dt);
      sums_.push_back(sum += dt * A);
    }
  }

  void write_outputs(std::span<const float> state, std::size_t head, const BatchTokens& range) {
    const auto n = static_cast<std::int64_t>(N_);
    for (std::int32_t i = range.first; i < range.last; ++i) {
      const std::size_t at = as_index(i - range.first);
      const auto C = row(io_.C, i, head);
      weights_.clear();
      for (std::size_t j = 0; j <= at; ++j) {
        const auto B = row(io_.B, range.first + static_cast<std::int32_t>(j), head);
        weights_.push_back(OrderedSum::dot(C.data(), B.data(), n) * exp_f32(sums_[at] - sums_[j]) *
                           dt_[j]);
      }
      const float decay = exp_f32(sums_[at]);
      for (std::size_t p = 0; p < P_; ++p) {
        float y = decay * OrderedSum::dot(state.data() + p * N_, C.data(), n);
        for (std::size_t j = 0; j <= at; ++j)
          y += weights_[j] * x(range.first + static_cast<std::int32_t>(j), head, p);
        io_.y[(as_index(i) * H_ + head) * P_ + p] = y + x(i, head, p) * layer_.D[head];
      }
    }
  }

  void advance(std::span<float> state, std::size_t head, const BatchTokens& range) {
    if (sums_.empty()) return;
    const float decay = exp_f32(sums_.back());
    for (float& element : state) element *= decay;
    for (std::int32_t j = range.first; j < range.last; ++j) {
      const std::size_t at = as_index(j - range.first);
      const float weight = exp_f32(sums_.back() - sums_[at]) * dt_[at];
      const auto B = row(io_.B, j, head);
      for (std::size_t p = 0; p < P_; ++p) {
        const float scaled = weight * x(j, head, p);
        for (std::size_t n = 0; n < N_; ++n) state[p * N_ + n] += scaled * B[n];
      }
    }
  }

  const Mamba2Layer& layer_;
  const Mamba2Tokens& io_;
  std::size_t H_, P_, N_, G_;
  std::vector<float> dt_, sums_, weights_;  // of one head's tokens in the chunk
};

}  // namespace

void mamba2_prefill_chunked(const Mamba2Layer& layer, const PrefillRows& rows,
                            const StatePool& pool, const Mamba2Tokens& tokens,
                            bool prep_initial_states, const Mamba2Chunks& chunks) {
  const auto num_tokens = static_cast<std::int32_t>(tokens.dt.size() / as_index(layer.num_heads));
  Mamba2ChunkScan scan(layer, tokens);
  RunningState state(pool);
  std::int32_t last_row = -1;
  const auto count = static_cast<std::int32_t>(chunks.seq_idx.size());
  for (std::int32_t k = 0; k < count && as_index(k) + 1 < chunks.cu_chunk_seqlen.size(); ++k) {
    const std::int32_t row = chunks.seq_idx[as_index(k)];
    const BatchTokens range{std::max(chunks.cu_chunk_seqlen[as_index(k)], 0),
                            std::min(chunks.cu_chunk_seqlen[as_index(k) + 1], num_tokens)};
    if (row < 0 || row >= rows.num_rows() || range.size() <= 0) continue;
    if (row != last_row) state.begin(rows, row, prep_initial_states);
    last_row = row;
    scan.run(state.values(), range);
    if (rows.is_mode_all()) {
      const std::int32_t column = column_of_chunk(rows, chunks, row, k);
      if (column >= 0) state.store(rows.state_indices.at(row, column));
    } else {
      for (const BoundaryState& boundary : boundary_states(rows, row))
        if (rows.tokens(row).first + boundary.num_tokens == range.last) state.store(boundary.block);
    }
    if (chunks.last_chunk_indices[as_index(row)] == k) state.store(rows.destination(row));
  }
  for (std::int32_t row = 0; row < rows.num_rows() && !rows.is_mode_all(); ++row) {
    if (rows.tokens(row).size() > 0) continue;
    state.begin(rows, row, prep_initial_states);
    state.store(rows.destination(row));
  }
}

}  // namespace hybridscope
