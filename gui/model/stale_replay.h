// A graph that replays arrays which no build of its step wrote: it finds what an earlier step left
// in its buffers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/trace/step_trace.h"
#include "gui/model/step_arrays.h"

namespace hybridscope {

// Does the step's graph read arrays of the group, and are they of an earlier step?
bool replays(const StepTrace& trace, const GroupTrace& group);
bool replays_stale(const StepTrace& trace, const GroupTrace& group);
// What such a replay finds, and what that means for what is shown of blocks.
std::string stale_words(const GroupTrace& group, std::int64_t step);
// What it really read, as the step before built it; null: another step did, or only the capture,
// and that is not kept.
const NamedArray* left_in_buffers(const StepArrays& before, const GroupTrace& group,
                                  std::string_view name);

}  // namespace hybridscope
