// Kernels over whole pages, padding included.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "kernels/cuda/launch_context.h"

namespace hybridscope {

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
