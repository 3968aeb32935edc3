// The launches of a step on a device.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "kernels/cuda/launch_context.h"
#include "kernels/step_launches.h"

namespace hybridscope {

// Call before the first launch, so that no launch waits for its kernel to be loaded.
Status load_step_kernels(int device);

// Launches without waiting, allocating or copying: may be captured in a graph. `arrays` holds
// device addresses.
Status launch_step(const StepPlan& plan, const StepArrays& arrays, const LaunchContext& context);

// Zeroes the states `range`, those of the widest group, of each block; padding stays. Does not
// wait. Error: the launch was refused.
Status launch_zero(const MemoryView& memory, StateRange range,
                   std::span<const std::int32_t> blocks_on_device, const LaunchContext& context);

}  // namespace hybridscope
