// An engine scenario as the slow oracle takes it.
#pragma once

#include "tests/core/engine/engine_scenario.h"
#include "tests/support/naive_engine.h"

namespace hybridscope::test {

// Modes none and align: the oracle's configuration and tokens. They share with core only which
// request repeats which part of which text.
NaiveConfig naive_config(const EngineScenario& scenario);
NaiveRequestSpec naive_request(const AddRequest& request, int arrival);

}  // namespace hybridscope::test
