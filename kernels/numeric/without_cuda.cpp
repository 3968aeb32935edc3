// The kernels of a program that was built without CUDA: what somebody calls in such a program.
#include "kernels/numeric/numeric_on_host.h"

namespace hybridscope {
namespace {

Error without_cuda() {
  return {ErrorKind::not_available,
          "this hybridscope was built without CUDA; --backend cpu needs none"};
}

}  // namespace

#define HS_DEFINE(name, Layer, Rows, Pool, Tokens)                                          \
  Status name##_cuda(const Layer&, const Rows&, const Pool&, const Tokens&, CUstream_st*) { \
    return without_cuda();                                                                  \
  }                                                                                         \
  Status NumericOnHost::name(const Layer&, const Rows&, const Pool&, const Tokens&) const { \
    return without_cuda();                                                                  \
  }
HS_LAYER_FUNCTIONS(HS_DEFINE)
#undef HS_DEFINE

Status delta_rule_prefill_chunked_cuda(const DeltaRuleLayer&, const PrefillRows&, const StatePool&,
                                       const DeltaRuleTokens&, std::span<const RowChunk>,
                                       const ChunkLaunch&, CUstream_st*) {
  return without_cuda();
}
Status NumericOnHost::apply(NumericFunction, std::span<const float>, std::span<float>) const {
  return without_cuda();
}
Status NumericOnHost::dots(std::span<const float>, std::span<const float>, std::span<float>) const {
  return without_cuda();
}
Result<std::uint64_t> NumericOnHost::compare_quick_functions() const { return without_cuda(); }
Status NumericOnHost::linear(const LinearShape&, std::span<const float>, std::span<const float>,
                             std::span<float>) const {
  return without_cuda();
}
Status NumericOnHost::rms_norm(const RmsNorm&, std::span<const float>, std::span<float>) const {
  return without_cuda();
}
Status NumericOnHost::gated_norm(const RmsNorm&, std::int32_t, std::span<const float>,
                                 std::span<const float>, std::span<float>) const {
  return without_cuda();
}
Status NumericOnHost::norm_gated(const RmsNorm&, OutputGate, std::span<const float>,
                                 std::span<const float>, std::span<float>) const {
  return without_cuda();
}
Status NumericOnHost::gated_mlp(const GatedMlp&, std::int32_t, std::span<const float>,
                                std::span<float>) const {
  return without_cuda();
}
Status NumericOnHost::rope(RopeTable&, std::span<const std::int32_t>, std::int32_t,
                           std::span<float>) const {
  return without_cuda();
}
Status NumericOnHost::embed_tokens(std::span<const std::int32_t>, std::span<const float>,
                                   std::span<float>) const {
  return without_cuda();
}
Status NumericOnHost::greedy_tokens(std::span<const float>, std::span<std::int32_t>) const {
  return without_cuda();
}
Status NumericOnHost::paged_attention(const AttentionLayer&, const AttentionRows&, const KvCache&,
                                      const AttentionTokens&) const {
  return without_cuda();
}
Status NumericOnHost::mamba2_prefill(const Mamba2Layer&, const PrefillRows&, const StatePool&,
                                     const Mamba2Tokens&, bool) const {
  return without_cuda();
}
Status NumericOnHost::mamba2_prefill_chunked(const Mamba2Layer&, const PrefillRows&,
                                             const StatePool&, const Mamba2Tokens&, bool,
                                             const Mamba2Chunks&) const {
  return without_cuda();
}
Status NumericOnHost::delta_rule_prefill_chunked(const DeltaRuleLayer&, const PrefillRows&,
                                                 const StatePool&, const DeltaRuleTokens&,
                                                 std::span<const RowChunk>) const {
  return without_cuda();
}

}  // namespace hybridscope
