// The fused launches of mode align for state bytes in host memory: decided and copied by the
// kernels of fused_align, with the results of core/state/mode_copies.
// Arrays and states go to the device and back; the launches run from a CUDA graph.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/state/mode_copies.h"
#include "core/state/state_memory.h"

namespace hybridscope {

// Errors of all three: no usable device, too little memory on it, a block table whose width is not
// the layout's, what FusedAlign::create refuses, the device's. Requires: the function of core that
// is named accepts the same inputs, the blocks that it copies lie inside `states`, and block_size
// is the layout's.

// run_fused_postprocess.
Status fused_postprocess_cuda(const HostStates& states, const PostprocessV1Inputs& inputs,
                              std::span<std::int32_t> num_accepted_tokens_out, std::int32_t device);

// run_fused_postprocess_align; `num_accepted_tokens` [slots] in place.
Status fused_postprocess_align_cuda(const HostStates& states, const PostprocessV2Inputs& inputs,
                                    std::span<std::int32_t> num_accepted_tokens,
                                    std::int32_t device);

// preprocess_mamba_align, then run_fused_precopy on the slots that it leaves. `precopy_rows`:
// [num_reqs] row -> slot of the pre-copy, -1: skip.
Status advance_and_precopy_cuda(const HostStates& states, const AlignAdvanceInputs& inputs,
                                std::span<const std::int32_t> precopy_rows, AlignSlots& slots,
                                std::int32_t device);

}  // namespace hybridscope
