// Scenario values into the text of a scenario file.
#pragma once

#include <string>

#include "sessions/scenario/scenario.h"

namespace hybridscope {

// Settings, prompts and optional parts that have their default are left out. Requests and script
// steps take one line each. parse_scenario(write_scenario(s)) equals s.
std::string write_scenario(const Scenario& scenario);

}  // namespace hybridscope
