// Executes copy plans for state bytes in host memory on a CUDA device: the batched memcpy as
// kernels/cpu/state_copy_cpu does it. The list's upload and its launches run from a CUDA graph.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/state/state_copy.h"
#include "core/state/state_memory.h"
#include "kernels/cuda/launch_order.h"

namespace hybridscope {

// Runs the copies in order. `states` are bytes by flat state index; those that overlap in memory
// overlap on the device. Errors: no usable device, too little memory on it, the device's. Requires:
// regions inside the state's bytes; rows of a copy do not overlap each other.
Status execute_copies_cuda(std::span<const StateCopy> copies, HostStateBytes states,
                           std::int32_t device, const LaunchOrder& order = {});

}  // namespace hybridscope
