// What admitted requests got from the prefix cache.
#pragma once

#include "core/check/check_context.h"

namespace hybridscope {

// Checks that every block that a hit covers was registered as that prefix, and that attention
// blocks hold it; the state of a mamba group is checked when the row reads it. Call before the
// forward. Requires check_shapes for the groups.
void check_prefix_hits(CheckContext& context);

}  // namespace hybridscope
