// What vectors of real recurrences leave to kernels. Those of a device are implemented in kernels/
// and passed in by app/.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/base/result.h"
#include "core/numeric/chunked.h"
#include "core/numeric/conv.h"
#include "core/numeric/dense_layers.h"
#include "core/numeric/paged_attention.h"
#include "core/numeric/recurrences.h"

namespace hybridscope {

// All take and leave what they work on in host memory, of all tokens of a batch at once; `x`, `y`
// and `z` are [tokens, n].
struct NumericKernels {
  using Elementwise = std::function<Status(std::span<const float> x, std::span<float> y)>;
  template <class Layer, class Rows, class Tokens>
  using OnStates =
      std::function<Status(const Layer&, const Rows&, const StatePool&, const Tokens&)>;

  Elementwise exp, softplus, sigma, silu;
  // Ordered sums of the products of rows, where `y` has a total for each row.
  std::function<Status(std::span<const float> a, std::span<const float> b, std::span<float> y)>
      dots;
  // Turns `heads` [positions, heads, head_dim] in place.
  std::function<Status(RopeTable& table, std::span<const std::int32_t> positions,
                       std::int32_t head_dim, std::span<float> heads)>
      rope;
  std::function<Status(const RmsNorm& norm, std::span<const float> x, std::span<float> y)> rms_norm;
  std::function<Status(const RmsNorm& norm, std::int32_t groups, std::span<const float> x,
                       std::span<const float> z, std::span<float> y)>
      gated_norm;
  std::function<Status(const RmsNorm& norm, OutputGate gate, std::span<const float> x,
                       std::span<const float> z, std::span<float> y)>
      norm_gated;
  std::function<Status(const GatedMlp& mlp, std::int32_t num_tokens, std::span<const float> x,
                       std::span<float> y)>
      gated_mlp;
  std::function<Status(const AttentionLayer&, const AttentionRows&, const KvCache&,
                       const AttentionTokens&)>
      paged_attention;

  OnStates<ConvLayer, PrefillRows, ConvTokens> conv_prefill;
  OnStates<ConvLayer, DecodeRows, ConvTokens> conv_update;
  // `BCx`: [tokens, 3 dim], the gate of the input, that of the output, the input.
  std::function<Status(const ConvLayer&, const PrefillRows&, const StatePool&,
                       std::span<const float> BCx, std::span<float> y)>
      short_conv_prefill;
  std::function<Status(const ConvLayer&, const DecodeRows&, const StatePool&,
                       std::span<const float> BCx, std::span<float> y)>
      short_conv_update;
  OnStates<Mamba1Layer, PrefillRows, Mamba1Tokens> mamba1_prefill;
  OnStates<Mamba1Layer, DecodeRows, Mamba1Tokens> mamba1_update;
  std::function<Status(const Mamba2Layer&, const PrefillRows&, const StatePool&,
                       const Mamba2Tokens&, bool prep_initial_states)>
      mamba2_prefill;
  std::function<Status(const Mamba2Layer&, const PrefillRows&, const StatePool&,
                       const Mamba2Tokens&, bool prep_initial_states, const Mamba2Chunks&)>
      mamba2_prefill_chunked;
  OnStates<Mamba2Layer, DecodeRows, Mamba2Tokens> mamba2_update;
  OnStates<DeltaRuleLayer, PrefillRows, DeltaRuleTokens> delta_rule_prefill;
  std::function<Status(const DeltaRuleLayer&, const PrefillRows&, const StatePool&,
                       const DeltaRuleTokens&, std::span<const RowChunk>)>
      delta_rule_prefill_chunked;
  OnStates<DeltaRuleLayer, DecodeRows, DeltaRuleTokens> delta_rule_update;
  OnStates<LightningLayer, PrefillRows, LightningTokens> lightning_prefill;
  OnStates<LightningLayer, DecodeRows, LightningTokens> lightning_update;
};

// The functions of core/numeric.
NumericKernels host_numeric_kernels();

// The kernels of `kernels`, each of which adds 1 to `num_launches` when it is called.
// `num_launches` must outlive them.
NumericKernels counted(NumericKernels kernels, std::int64_t& num_launches);

}  // namespace hybridscope
