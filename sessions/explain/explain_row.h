// In words, where a row of a batch comes from and what it samples.
#pragma once

#include <string>

#include "core/trace/step_trace.h"

namespace hybridscope {

// "kept", "moved from 2".
std::string explain_row_origin(const RowTrace& row);

// "a = 2 of 1..3: 1 of 2 drafts accepted, 1 rejected, and the bonus token". Requires: the step has
// sampled.
std::string explain_sample(const ScheduledTrace& scheduled, const RowTrace& row);

}  // namespace hybridscope
