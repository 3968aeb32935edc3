// What admitted requests got from the prefix cache.
#pragma once

#include "core/check/check_context.h"

namespace hybridscope {

// Checks that every block that a hit covers was registered as that prefix, and that attention
// blocks that it covers in part hold it; the state of a mamba group is checked when the row reads
// it. Call before block copies and forward. Requires check_shapes for the groups.
void check_prefix_hits(CheckContext& context);

// Checks that the whole blocks that a hit covers in an attention group hold its prefix, once the
// step has written its keys and values: these may be among them (semantics: attention-slots).
void check_hits_after_the_writes(CheckContext& context, const GroupTrace& group);

}  // namespace hybridscope
