#include "core/numeric/lightning.h"

#include <vector>

#include "core/numeric/arithmetic.h"
#include "core/numeric/recurrence.h"

namespace hybridscope {
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

}  // namespace hybridscope
