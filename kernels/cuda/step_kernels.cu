#include "kernels/cuda/step_kernels.h"

#include "kernels/cuda/lane_kernel.cuh"

namespace hybridscope {

Status load_step_kernels(int device) {
  return load_kernels(device, run_lanes<ClearBody>, run_lanes<CopyBody>,
                      run_lanes<MeetingCopiesBody>, run_lanes<FoldBody>, run_lanes<TemporalBody>,
                      run_lanes<ConvBody>);
}

Status launch_step(const StepPlan& plan, const StepArrays& arrays, const LaunchContext& context) {
  return run_step(plan, arrays, [&context](const auto& body, std::int64_t num_items) {
    return launch_lanes(body, num_items, context);
  });
}

}  // namespace hybridscope
