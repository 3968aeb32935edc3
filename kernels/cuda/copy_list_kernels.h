// Batched memcpy on a device.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "kernels/copy_list.h"
#include "kernels/cuda/launch_context.h"

namespace hybridscope {

// The copies of `list`, which lies on the device as well. In order, or all at once where none meets
// another; each has memmove semantics. Does not wait.
Status launch_copies(std::span<const ListedCopy> list, const ListedCopy* list_on_device,
                     const LaunchContext& context);

}  // namespace hybridscope
