// The conditions of what is said about a step, from the step's own decisions: a second, independent
// look at each sentence of explain_step that gives a reason.
#pragma once

#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/trace/step_trace.h"
#include "tests/sessions/explain/explained_run.h"

namespace hybridscope::test {

struct ToldStep {
  const StepTrace& trace;
  const Engine& engine;          // after the step
  const CachedPrefixes& cached;  // that were there during the whole step
  std::string text;              // of explain_step, each item in one line
};

// One sentence for each condition that does not hold; `num_checked` counts those that were looked
// at.
std::vector<std::string> broken_conditions(const ToldStep& step, int& num_checked);

}  // namespace hybridscope::test
