// What must hold between the parts of a scenario. For scenario_reader.cpp.
#pragma once

#include "sessions/object_reader.h"
#include "sessions/scenario.h"

namespace hybridscope {

// Names exist and are used once, sharing can be resolved, prompts and scripted counts fit the
// settings. What needs the model's sizes is checked by engine_setup.
void check_scenario(const Scenario& scenario, JsonErrors& errors);

}  // namespace hybridscope
