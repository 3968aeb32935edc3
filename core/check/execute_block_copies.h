// Copies of whole blocks, which a step makes before anything else touches state (semantics:
// copy-on-write).
#pragma once

#include "core/check/check_context.h"

namespace hybridscope {

// Carries out the copies of the step's cache events, in their order. Reports a source that nobody
// wrote, and a destination that belongs to another request.
void execute_block_copies(CheckContext& context);

}  // namespace hybridscope
