// Batched memcpy on a device.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "kernels/copy_list.h"
#include "kernels/cuda/launch_graph.h"

namespace hybridscope {

enum class CopiesAre : std::uint8_t {
  at_once,   // one launch: no two conflict (copies_meet)
  in_order,  // one launch per copy
};

// Call before a launch is recorded in a graph, so that it does not load its kernel there.
Status load_copy_kernels(int device);

// The copies of `list`, which lies on the device as well; each has memmove semantics. Does not
// wait.
Status launch_copies(std::span<const ListedCopy> list, const ListedCopy* list_on_device,
                     CopiesAre order, const LaunchContext& context);

}  // namespace hybridscope
