// Verify on a device.
#pragma once

#include "core/base/result.h"
#include "kernels/content_bodies.h"
#include "kernels/cuda/launch_context.h"

namespace hybridscope {

// [count, memory.most_states] each.
struct VerifyResults {
  std::uint64_t* first_differences = nullptr;  // all bits set before the launch
  std::uint64_t* expected = nullptr;
  std::uint64_t* seen = nullptr;
};
Status launch_verify(const ContentArrays& arrays, std::int32_t count, const VerifyResults& results,
                     const LaunchContext& context);

}  // namespace hybridscope
