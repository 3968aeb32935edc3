// The `script` of a scenario file. For scenario_reader.cpp.
#pragma once

#include <vector>

#include "sessions/object_reader.h"
#include "sessions/scenario.h"

namespace hybridscope {

// Reports wrong types, ranges and steps that do not ascend; names are checked by check_scenario.
std::vector<ScriptStep> read_script(const JsonPlace& place, JsonErrors& errors);

}  // namespace hybridscope
