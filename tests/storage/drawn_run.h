// Drawn runs for property tests of session files.
#pragma once

#include "sessions/run/run_plan.h"

namespace hybridscope::test {

// Inside a property only: a model with a recurrent and an attention group under drawn settings,
// with a few conversations that share prompts, in a pool that can be too small for all of them; the
// script preempts, aborts and resets.
RunPlan drawn_run();

}  // namespace hybridscope::test
