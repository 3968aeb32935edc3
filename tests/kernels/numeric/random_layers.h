// Layers of random sizes and weights, and the functions of host and device that run them, under one
// set of names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/numeric/numeric_on_host.h"
#include "tests/kernels/numeric/numeric_case.h"

namespace hybridscope::test {

// Sizes that are and that are not multiples of what a warp takes.
inline std::int32_t random_state_size(NumericDraw& draw) {
  return draw.one_of<std::int32_t>({1, 7, 16, 32, 33, 64, 100, 128, 160, 256});
}

// Of heads that kernels without masks take.
inline std::int32_t random_whole_rows(NumericDraw& draw) {
  return draw.one_of<std::int32_t>({16, 48, 64, 128});
}

class RandomMamba1 {
 public:
  explicit RandomMamba1(NumericDraw& draw)
      : I_(draw.number(1, 40)),
        N_(random_state_size(draw)),
        A_log_(draw.floats(I_ * N_)),
        D_(draw.floats(I_)),
        dt_bias_(draw.floats(I_)) {}

  struct Tokens {
    std::vector<float> x, delta, B, C, z;
    Mamba1Tokens view(std::span<float> y) const { return {x, delta, B, C, z, y}; }
  };
  Tokens tokens(NumericDraw& draw, std::int32_t count) const {
    return {draw.floats(count * I_), draw.floats(count * I_, 3.0F), draw.floats(count * N_),
            draw.floats(count * N_), draw.floats(count * I_, 4.0F)};
  }
  Mamba1Layer layer() const { return {I_, N_, A_log_, D_, dt_bias_}; }
  std::int64_t block_elements() const { return I_ * N_; }
  std::int64_t outputs() const { return I_; }

  static void update(const Mamba1Layer& layer, const DecodeRows& rows, const StatePool& pool,
                     const Mamba1Tokens& io) {
    mamba1_update(layer, rows, pool, io);
  }
  static Status update(const NumericOnHost& on, const Mamba1Layer& layer, const DecodeRows& rows,
                       const StatePool& pool, const Mamba1Tokens& io) {
    return on.mamba1_update(layer, rows, pool, io);
  }
  static void prefill(const Mamba1Layer& layer, const PrefillRows& rows, const StatePool& pool,
                      const Mamba1Tokens& io) {
    mamba1_prefill(layer, rows, pool, io);
  }
  static Status prefill(const NumericOnHost& on, const Mamba1Layer& layer, const PrefillRows& rows,
                        const StatePool& pool, const Mamba1Tokens& io) {
    return on.mamba1_prefill(layer, rows, pool, io);
  }

 private:
  std::int32_t I_, N_;
  std::vector<float> A_log_, D_, dt_bias_;
};

class RandomMamba2 {
 public:
  explicit RandomMamba2(NumericDraw& draw)
      : RandomMamba2(draw, draw.number(1, 3), draw.number(1, 3), draw.number(1, 40),
                     random_state_size(draw)) {}

  struct Tokens {
    std::vector<float> x, dt, B, C;
    Mamba2Tokens view(std::span<float> y) const { return {x, dt, B, C, y}; }
  };
  Tokens tokens(NumericDraw& draw, std::int32_t count) const {
    return {draw.floats(count * H_ * P_), draw.floats(count * H_, 3.0F),
            draw.floats(count * G_ * N_), draw.floats(count * G_ * N_)};
  }
  Mamba2Layer layer() const {
    return {.num_heads = H_,
            .head_dim = P_,
            .state_size = N_,
            .num_groups = G_,
            .A_log = A_log_,
            .D = D_,
            .dt_bias = dt_bias_,
            .dt_min = 0.01F,
            .dt_max = 2.0F,
            .has_dt_limit = has_limit_};
  }
  std::int64_t block_elements() const { return H_ * P_ * N_; }
  std::int64_t outputs() const { return H_ * P_; }

  static void update(const Mamba2Layer& layer, const DecodeRows& rows, const StatePool& pool,
                     const Mamba2Tokens& io) {
    mamba2_update(layer, rows, pool, io);
  }
  template <class Pool>
  static Status update(const NumericOnHost& on, const Mamba2Layer& layer, const DecodeRows& rows,
                       const Pool& pool, const Mamba2Tokens& io) {
    return on.mamba2_update(layer, rows, pool, io);
  }
  static Status update(const NumericOnHost& on, const Mamba2Layer& layer, const DecodeRows& rows,
                       const StatePool& pool, const Mamba2Tokens& io) {
    return on.mamba2_update(layer, rows, pool, io);
  }
  // An odd number of heads: prep_initial_states is false.
  static void prefill(const Mamba2Layer& layer, const PrefillRows& rows, const StatePool& pool,
                      const Mamba2Tokens& io) {
    mamba2_prefill(layer, rows, pool, io, layer.num_heads % 2 == 0);
  }
  static Status prefill(const NumericOnHost& on, const Mamba2Layer& layer, const PrefillRows& rows,
                        const StatePool& pool, const Mamba2Tokens& io) {
    return on.mamba2_prefill(layer, rows, pool, io, layer.num_heads % 2 == 0);
  }

 protected:
  RandomMamba2(NumericDraw& draw, std::int32_t groups, std::int32_t heads_of_group, std::int32_t P,
               std::int32_t N)
      : H_(groups * heads_of_group),
        P_(P),
        N_(N),
        G_(groups),
        A_log_(draw.floats(H_)),
        D_(draw.floats(H_)),
        dt_bias_(draw.floats(H_)),
        has_limit_(draw.chance(0.3)) {}

 private:
  std::int32_t H_, P_, N_, G_;
  std::vector<float> A_log_, D_, dt_bias_;
  bool has_limit_;
};

class WholeMamba2 : public RandomMamba2 {
 public:
  explicit WholeMamba2(NumericDraw& draw)
      : RandomMamba2(draw, 2, draw.number(1, 3), random_whole_rows(draw), 128) {}
};

template <DecayOf kDecayOf>
class RandomDeltaRule {
 public:
  explicit RandomDeltaRule(NumericDraw& draw)
      : RandomDeltaRule(draw, draw.number(1, 40), random_state_size(draw)) {}

  struct Tokens {
    std::vector<float> q, k, v, a, b;
    DeltaRuleTokens view(std::span<float> o) const { return {q, k, v, a, b, o}; }
  };
  Tokens tokens(NumericDraw& draw, std::int32_t count) const {
    return {draw.floats(count * Hk_ * Dk_), draw.floats(count * Hk_ * Dk_),
            draw.floats(count * Hv_ * Dv_), draw.floats(count * Hv_ * decays(), 3.0F),
            draw.floats(count * Hv_, 3.0F)};
  }
  DeltaRuleLayer layer() const { return {Hk_, Hv_, Dk_, Dv_, kDecayOf, A_log_, dt_bias_}; }
  std::int64_t block_elements() const { return Hv_ * Dv_ * Dk_; }
  std::int64_t outputs() const { return Hv_ * Dv_; }

  static void update(const DeltaRuleLayer& layer, const DecodeRows& rows, const StatePool& pool,
                     const DeltaRuleTokens& io) {
    delta_rule_update(layer, rows, pool, io);
  }
  template <class Pool>
  static Status update(const NumericOnHost& on, const DeltaRuleLayer& layer, const DecodeRows& rows,
                       const Pool& pool, const DeltaRuleTokens& io) {
    return on.delta_rule_update(layer, rows, pool, io);
  }
  static Status update(const NumericOnHost& on, const DeltaRuleLayer& layer, const DecodeRows& rows,
                       const StatePool& pool, const DeltaRuleTokens& io) {
    return on.delta_rule_update(layer, rows, pool, io);
  }
  static void prefill(const DeltaRuleLayer& layer, const PrefillRows& rows, const StatePool& pool,
                      const DeltaRuleTokens& io) {
    delta_rule_prefill(layer, rows, pool, io);
  }
  static Status prefill(const NumericOnHost& on, const DeltaRuleLayer& layer,
                        const PrefillRows& rows, const StatePool& pool, const DeltaRuleTokens& io) {
    return on.delta_rule_prefill(layer, rows, pool, io);
  }

 protected:
  RandomDeltaRule(NumericDraw& draw, std::int32_t Dv, std::int32_t Dk)
      : Hk_(draw.number(1, 2)),
        Hv_(kDecayOf == DecayOf::head ? Hk_ * draw.number(1, 3) : Hk_),
        Dk_(Dk),
        Dv_(Dv),
        A_log_(draw.floats(Hv_)),
        dt_bias_(draw.floats(Hv_ * decays())) {}

 private:
  std::int32_t decays() const { return kDecayOf == DecayOf::head ? 1 : Dk_; }

  std::int32_t Hk_, Hv_, Dk_, Dv_;
  std::vector<float> A_log_, dt_bias_;
};
using RandomGdn = RandomDeltaRule<DecayOf::head>;
using RandomKda = RandomDeltaRule<DecayOf::key_channel>;

class WholeGdn : public RandomGdn {
 public:
  explicit WholeGdn(NumericDraw& draw) : RandomGdn(draw, random_whole_rows(draw), 128) {}
};

class RandomLightning {
 public:
  explicit RandomLightning(NumericDraw& draw)
      : H_(draw.number(1, 3)),
        D_(draw.one_of<std::int32_t>({1, 16, 32, 40, 96, 128})),
        rate_(draw.floats(H_)) {
    for (float& rate : rate_) rate = rate * rate + 1e-3F;
  }

  struct Tokens {
    std::vector<float> q, k, v;
    LightningTokens view(std::span<float> o) const { return {q, k, v, o}; }
  };
  Tokens tokens(NumericDraw& draw, std::int32_t count) const {
    const std::int32_t size = count * H_ * D_;
    return {draw.floats(size), draw.floats(size), draw.floats(size)};
  }
  LightningLayer layer() const { return {H_, D_, rate_}; }
  std::int64_t block_elements() const { return H_ * D_ * D_; }
  std::int64_t outputs() const { return H_ * D_; }

  static void update(const LightningLayer& layer, const DecodeRows& rows, const StatePool& pool,
                     const LightningTokens& io) {
    lightning_update(layer, rows, pool, io);
  }
  static Status update(const NumericOnHost& on, const LightningLayer& layer, const DecodeRows& rows,
                       const StatePool& pool, const LightningTokens& io) {
    return on.lightning_update(layer, rows, pool, io);
  }
  static void prefill(const LightningLayer& layer, const PrefillRows& rows, const StatePool& pool,
                      const LightningTokens& io) {
    lightning_prefill(layer, rows, pool, io);
  }
  static Status prefill(const NumericOnHost& on, const LightningLayer& layer,
                        const PrefillRows& rows, const StatePool& pool, const LightningTokens& io) {
    return on.lightning_prefill(layer, rows, pool, io);
  }

 private:
  std::int32_t H_, D_;
  std::vector<float> rate_;
};

struct LayerNames {
  template <class Layer>
  static std::string GetName(int) {
    if (std::is_same_v<Layer, RandomMamba1>) return "Mamba1";
    if (std::is_same_v<Layer, RandomMamba2>) return "Mamba2";
    if (std::is_same_v<Layer, RandomGdn>) return "Gdn";
    if (std::is_same_v<Layer, RandomKda>) return "Kda";
    return "Lightning";
  }
};

}  // namespace hybridscope::test
