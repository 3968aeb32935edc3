// `hybridscope run`: steps a scenario or traffic under the checker and reports what happened.
#pragma once

#include "cli/run_options.h"
#include "sessions/job/backends.h"

namespace hybridscope {

// Returns the exit code.
int run_command(const RunCommandOptions& options, const Backends& backends);

}  // namespace hybridscope
