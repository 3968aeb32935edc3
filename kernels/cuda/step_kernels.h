// The launches of a step on a device.
#pragma once

#include "core/base/result.h"
#include "kernels/cuda/launch_context.h"
#include "kernels/step_launches.h"

namespace hybridscope {

// Call before the first launch, so that no launch waits for its kernel to be loaded.
Status load_step_kernels(int device);

// Launches without waiting, allocating or copying: may be captured in a graph. `arrays` holds
// device addresses.
Status launch_step(const StepPlan& plan, const StepArrays& arrays, const LaunchContext& context);

}  // namespace hybridscope
