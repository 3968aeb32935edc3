#include "core/numeric/mamba2.h"

#include <algorithm>

#include "core/numeric/arithmetic.h"
#include "core/numeric/recurrence.h"

namespace hybridscope {
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

}  // namespace hybridscope
