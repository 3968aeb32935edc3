// The `script` of a scenario file, both ways.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "sessions/scenario/scenario.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {

// Reports wrong types, ranges and steps that do not ascend; names are checked by check_scenario.
std::vector<ScriptStep> read_script(const JsonPlace& place, JsonErrors& errors);

nlohmann::ordered_json script_step_to_json(const ScriptStep& step);

}  // namespace hybridscope
