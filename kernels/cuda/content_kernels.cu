#include "kernels/cuda/content_kernels.h"
#include "kernels/cuda/lane_kernel.cuh"

namespace hybridscope {

Status launch_verify(const ContentArrays& arrays, std::int32_t count, const VerifyResults& results,
                     const LaunchContext& context) {
  const std::int64_t num_items = std::int64_t{count} * arrays.memory.most_states;
  if (Status status =
          launch_lanes(VerifyBody{arrays, results.first_differences}, num_items, context);
      !status)
    return status;
  return launch_lanes(
      DescribeBody{arrays, results.first_differences, results.expected, results.seen}, num_items,
      context);
}

}  // namespace hybridscope
