// A graph replay with arrays that no build of its step wrote: it reads what an earlier step left in
// the buffers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/trace/step_trace.h"
#include "gui/model/step_arrays.h"
#include "sessions/explain/forward_rows.h"

namespace hybridscope {

// What such a replay reads, and what that means for the blocks as shown.
std::string stale_words(const GroupTrace& group, std::int64_t step);
// The array that it really read, as the step before built it; null: another step or only the
// capture did, which is not kept.
const NamedArray* left_in_buffers(const NamedStepArrays& before, const GroupTrace& group,
                                  std::string_view name);

}  // namespace hybridscope
