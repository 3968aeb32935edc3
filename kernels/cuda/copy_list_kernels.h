// Batched memcpy on a device.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "kernels/copy_list.h"
#include "kernels/cuda/launch_context.h"

namespace hybridscope {

enum class CopiesAre : std::uint8_t {
  at_once,   // one launch: no two conflict (copies_meet)
  in_order,  // one launch per copy
};

// The copies of `list`, which lies on the device as well; each has memmove semantics. Does not
// wait.
Status launch_copies(std::span<const ListedCopy> list, const ListedCopy* list_on_device,
                     CopiesAre order, const LaunchContext& context);

}  // namespace hybridscope
