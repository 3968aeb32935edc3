#include "app/vector_kernels.h"

#include "kernels/cpu/state_copy_cpu.h"
#include "kernels/cuda/block_table_gather_cuda.h"
#include "kernels/cuda/copy_list_cuda.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/fused_align_host.h"
#include "kernels/numeric/numeric_on_host.h"

namespace hybridscope {
namespace {

NumericKernels cuda_numeric_kernels(std::int32_t device) {
  const NumericOnHost on(device);
  const auto apply = [on](NumericFunction function) {
    return [on, function](std::span<const float> x, std::span<float> y) {
      return on.apply(function, x, y);
    };
  };
  return {
      .exp = apply(NumericFunction::exp),
      .softplus = apply(NumericFunction::softplus),
      .sigma = apply(NumericFunction::sigma),
      .silu = apply(NumericFunction::silu),
      .dots = [on](const auto&... in) { return on.dots(in...); },
      .rope = [on](RopeTable& table, const auto&... in) { return on.rope(table, in...); },
      .rms_norm = [on](const auto&... in) { return on.rms_norm(in...); },
      .gated_norm = [on](const auto&... in) { return on.gated_norm(in...); },
      .norm_gated = [on](const auto&... in) { return on.norm_gated(in...); },
      .gated_mlp = [on](const auto&... in) { return on.gated_mlp(in...); },
      .paged_attention = [on](const auto&... in) { return on.paged_attention(in...); },
      .conv_prefill = [on](const auto&... in) { return on.conv_prefill(in...); },
      .conv_update = [on](const auto&... in) { return on.conv_update(in...); },
      .short_conv_prefill =
          [on](const ConvLayer& layer, const PrefillRows& rows, const StatePool& pool,
               std::span<const float> BCx, std::span<float> y) {
            return on.short_conv_prefill(layer, rows, pool, {BCx, y});
          },
      .short_conv_update =
          [on](const ConvLayer& layer, const DecodeRows& rows, const StatePool& pool,
               std::span<const float> BCx, std::span<float> y) {
            return on.short_conv_update(layer, rows, pool, {BCx, y});
          },
      .mamba1_prefill = [on](const auto&... in) { return on.mamba1_prefill(in...); },
      .mamba1_update = [on](const auto&... in) { return on.mamba1_update(in...); },
      .mamba2_prefill = [on](const auto&... in) { return on.mamba2_prefill(in...); },
      .mamba2_prefill_chunked =
          [on](const auto&... in) { return on.mamba2_prefill_chunked(in...); },
      .mamba2_update = [on](const auto&... in) { return on.mamba2_update(in...); },
      .delta_rule_prefill = [on](const auto&... in) { return on.delta_rule_prefill(in...); },
      .delta_rule_prefill_chunked =
          [on](const auto&... in) { return on.delta_rule_prefill_chunked(in...); },
      .delta_rule_update = [on](const auto&... in) { return on.delta_rule_update(in...); },
      .lightning_prefill = [on](const auto&... in) { return on.lightning_prefill(in...); },
      .lightning_update = [on](const auto&... in) { return on.lightning_update(in...); },
  };
}

}  // namespace

Result<VectorKernels> cpu_vector_kernels(std::int32_t) {
  return VectorKernels{.execute_copies = &execute_copies};
}

Result<VectorKernels> cuda_vector_kernels(std::int32_t device) {
  if (Status there = expect_cuda_device(device); !there.ok()) return there.error();
  return VectorKernels{
      .on_device = true,
      .execute_copies =
          [device](std::span<const StateCopy> copies, HostStateBytes states) {
            return execute_copies_cuda(copies, states, device);
          },
      .fused_postprocess =
          [device](const HostStates& states, const PostprocessV1Inputs& inputs,
                   std::span<std::int32_t> num_accepted_tokens_out) {
            return fused_postprocess_cuda(states, inputs, num_accepted_tokens_out, device);
          },
      .fused_postprocess_align =
          [device](const HostStates& states, const PostprocessV2Inputs& inputs,
                   std::span<std::int32_t> num_accepted_tokens) {
            return fused_postprocess_align_cuda(states, inputs, num_accepted_tokens, device);
          },
      .advance_and_precopy =
          [device](const HostStates& states, const AlignAdvanceInputs& inputs,
                   std::span<const std::int32_t> precopy_rows, AlignSlots& slots) {
            return advance_and_precopy_cuda(states, inputs, precopy_rows, slots, device);
          },
      .gather_block_table =
          [device](const BlockTableGatherInput& input) {
            return gather_block_table_cuda(input, device);
          },
      .numeric = cuda_numeric_kernels(device)};
}

}  // namespace hybridscope
