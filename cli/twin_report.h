// Two runs of one scenario side by side, as text and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sessions/run/twin.h"

namespace hybridscope {

// A row a frame and request, at most 100 columns, then the reason and what was compared.
std::string format_twins(const Scenario& scenario, const Twins& twins);

// {config, frames, comparison}.
nlohmann::ordered_json twins_to_json(const Scenario& scenario, const Twins& twins);

}  // namespace hybridscope
