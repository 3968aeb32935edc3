// Writes Scenario values as the text of a scenario file.
#pragma once

#include <string>

#include "sessions/scenario/scenario.h"

namespace hybridscope {

// Settings, prompts and optional parts with their default value are left out. Requests and script
// steps take one line each. parse_scenario(write_scenario(s)) equals s.
std::string write_scenario(const Scenario& scenario);

}  // namespace hybridscope
