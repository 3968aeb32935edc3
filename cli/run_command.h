// `hybridscope run`: steps a scenario or traffic under the checker and reports what happened.
#pragma once

#include "cli/backends.h"
#include "cli/run_options.h"

namespace hybridscope {

// Returns the exit code.
int run_command(const RunOptions& options, const Backends& backends);

}  // namespace hybridscope
