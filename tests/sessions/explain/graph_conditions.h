// Whether the reason that a step gives for its graph holds, from the batch and what was captured
// alone: a second, independent look at the dispatch.
#pragma once

#include <string>

#include "core/engine/engine.h"
#include "core/trace/step_trace.h"

namespace hybridscope::test {

// One sentence, empty: it holds. Requires: the step has rows.
std::string broken_graph_reason(const StepTrace& trace, const Engine& engine);

}  // namespace hybridscope::test
