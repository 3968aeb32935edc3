// Reads and writes the `expect` of a scenario file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sessions/scenario/scenario.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {

// Reports wrong types and ranges; check_expectation checks rules and names.
Expectation read_expectation(const JsonPlace& place, JsonErrors& errors);

nlohmann::ordered_json expectation_to_json(const Expectation& expect);

}  // namespace hybridscope
