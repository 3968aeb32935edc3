// The kernels behind a step on a device: its launches, the check of contents, whole pages.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "kernels/copy_bodies.h"
#include "kernels/cuda/launch_graph.h"
#include "kernels/step_launches.h"

namespace hybridscope {

// Call before the first launch, so that no launch waits for its kernel to be loaded.
Status load_step_kernels(int device);

// Launches without waiting, allocating or copying: may be captured in a graph. `arrays` holds
// device addresses.
Status launch_step(const StepPlan& plan, const StepArrays& arrays, const LaunchContext& context);

// Verify on a device.

// [count, memory.most_states] each.
struct VerifyResults {
  std::uint64_t* first_differences = nullptr;  // all bits set before the launch
  std::uint64_t* expected = nullptr;
  std::uint64_t* seen = nullptr;
};
Status launch_verify(const ContentArrays& arrays, std::int32_t count, const VerifyResults& results,
                     const LaunchContext& context);

// Kernels over whole pages, padding included.

// The pattern of poison in all bytes; `num_bytes` is even, `data` aligned to 8.
Status launch_fill_poison(std::byte* data, std::int64_t num_bytes, const LaunchContext& context);

struct Pages {
  const std::byte* data = nullptr;  // [num_buffers, num_blocks, page_size_bytes]
  std::int64_t buffer_bytes = 0;
  std::int64_t page_size_bytes = 0;
  std::int32_t num_buffers = 0;
};
// Adds the digest of blocks[i] to digests[i], [count] each, on the device. Does not wait. Error:
// the launch was refused.
Status launch_digests(const Pages& pages, const std::int32_t* blocks, std::int32_t count,
                      std::uint64_t* digests, const LaunchContext& context);

}  // namespace hybridscope
