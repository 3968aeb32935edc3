// Two runs of one scenario side by side, as text and JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/run_options.h"
#include "sessions/job/backends.h"
#include "sessions/run/twin.h"

namespace hybridscope {

// `hybridscope run --twin`: a scenario run twice, as written and with its twin's settings.

// Returns the exit code: 1 when the runs sample other tokens, accept other counts, or have
// findings.
int twin_command(const RunCommandOptions& options, const Backends& backends);

// One row per frame and request, at most 100 columns, then the reason and what was compared.
std::string format_twins(const Scenario& scenario, const Twins& twins);

// {config, frames, comparison}.
nlohmann::ordered_json twins_to_json(const Scenario& scenario, const Twins& twins);

}  // namespace hybridscope
