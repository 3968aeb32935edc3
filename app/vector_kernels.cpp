#include "app/vector_kernels.h"

#include "kernels/cpu/state_copy_cpu.h"
#include "kernels/cuda/block_table_gather_cuda.h"
#include "kernels/cuda/copy_list_cuda.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/fused_align_host.h"

namespace hybridscope {

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
          }};
}

}  // namespace hybridscope
