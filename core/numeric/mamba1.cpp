#include "core/numeric/mamba1.h"

#include <vector>

#include "core/numeric/arithmetic.h"
#include "core/numeric/recurrence.h"

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

}  // namespace hybridscope
