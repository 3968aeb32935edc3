// How post-copies change in engines that differ from the reference: one function for each
// difference, called by the engine where a policy asks for it.
#pragma once

#include <span>

#include "core/state/copy_decision.h"
#include "core/state/copy_launch.h"

namespace hybridscope {

// A copy whose destination is left of the running column is not made.
void suppress_backward_copies(std::span<StateCopyDecision> decisions);

// V2: the first program of a row writes the accepted count of 1 in place, and those that run later
// find it and copy nothing (known bug 3). Decisions of other rules stay.
void skip_copies_with_reset_in_place(std::span<StateCopyDecision> decisions);

// All groups of a decision use the blocks of the first one (known bug 42). Requires: the copies of
// one decision are adjacent.
void use_blocks_of_first_group(std::span<StateCopyTrace> copies);

}  // namespace hybridscope
