// How much of a sequence the copy of a whole block stands for (semantics: copy-on-write).
#pragma once

#include <cstdint>

#include "core/trace/step_trace.h"

namespace hybridscope {

// Tokens of the prefix with which the copied content ends: the hit of an admitted request, or the
// prompt's tail whose keys move to the copy of a running one; 0: not known.
std::int32_t copied_tokens(const StepTrace& trace, const BlockCopy& copy);

}  // namespace hybridscope
