// Does what the scheduler says of a step agree with the rows, blocks and tokens of the step?
#pragma once

#include "core/check/check_context.h"

namespace hybridscope {

// Reports a request's scheduled tokens, if the metadata of every recurrent group that tells the
// lengths of rows has another number for this one request; and a hit that ends off the hash blocks.
// Runs before the checks of what follows from these. Requires nothing of the trace.
void check_schedule(CheckContext& context);

}  // namespace hybridscope
