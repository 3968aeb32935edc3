// Reads and writes the `expect` of a scenario file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sessions/scenario/scenario.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// Fails for wrong types and ranges; check_expectation checks rules and names.
Expectation read_expectation(const JsonValue& place);

nlohmann::ordered_json expectation_to_json(const Expectation& expect);

}  // namespace hybridscope
