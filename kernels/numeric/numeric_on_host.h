// The kernels of this folder on arrays of host memory, for tests and reference vectors: uploaded,
// launched from a CUDA graph, downloaded. Arguments are those of the function with the same name,
// in host memory.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "kernels/numeric/arithmetic_cuda.h"
#include "kernels/numeric/dense_cuda.h"
#include "kernels/numeric/recurrences_cuda.h"

namespace hybridscope {

// Errors: not_available without the device; else the kernels'.
class NumericOnHost {
 public:
  explicit NumericOnHost(std::int32_t device) : device_(device) {}
  std::int32_t device() const { return device_; }

  Status apply(NumericFunction function, std::span<const float> x, std::span<float> y) const;
  Status dots(std::span<const float> a, std::span<const float> b, std::span<float> y) const;
  // Counts the floats for which a quick function is wrong.
  Result<std::uint64_t> compare_quick_functions() const;

  Status linear(const LinearShape& shape, std::span<const float> weight, std::span<const float> x,
                std::span<float> y) const;
  Status rms_norm(const RmsNorm& norm, std::span<const float> x, std::span<float> y) const;
  Status gated_norm(const RmsNorm& norm, std::int32_t groups, std::span<const float> x,
                    std::span<const float> z, std::span<float> y) const;
  Status norm_gated(const RmsNorm& norm, OutputGate gate, std::span<const float> x,
                    std::span<const float> z, std::span<float> y) const;
  Status gated_mlp(const GatedMlp& mlp, std::int32_t num_tokens, std::span<const float> x,
                   std::span<float> y) const;
  // `heads`: [positions, heads, head_dim].
  Status rope(RopeTable& table, std::span<const std::int32_t> positions, std::int32_t head_dim,
              std::span<float> heads) const;
  Status embed_tokens(std::span<const std::int32_t> token_ids, std::span<const float> embedding,
                      std::span<float> x) const;
  Status greedy_tokens(std::span<const float> logits, std::span<std::int32_t> token_ids) const;
  Status paged_attention(const AttentionLayer& layer, const AttentionRows& rows,
                         const KvCache& cache, const AttentionTokens& tokens) const;

#define HS_DECLARE(name, Layer, Rows, Pool, Tokens) \
  Status name(const Layer& layer, const Rows& rows, const Pool& pool, const Tokens& tokens) const;
  HS_LAYER_FUNCTIONS(HS_DECLARE)
#undef HS_DECLARE
  Status mamba2_prefill(const Mamba2Layer& layer, const PrefillRows& rows, const StatePool& pool,
                        const Mamba2Tokens& tokens, bool prep_initial_states) const;
  Status mamba2_prefill_chunked(const Mamba2Layer& layer, const PrefillRows& rows,
                                const StatePool& pool, const Mamba2Tokens& tokens,
                                bool prep_initial_states, const Mamba2Chunks& chunks) const;
  Status delta_rule_prefill_chunked(const DeltaRuleLayer& layer, const PrefillRows& rows,
                                    const StatePool& pool, const DeltaRuleTokens& tokens,
                                    std::span<const RowChunk> chunks) const;

 private:
  std::int32_t device_;
};

}  // namespace hybridscope
