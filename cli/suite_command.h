// `hybridscope run` with several scenarios: each runs, even if others fail.
#pragma once

#include "cli/run_options.h"
#include "sessions/job/backends.h"

namespace hybridscope {

// Returns the exit code: the worst of all scenarios; 2 when none is selected, 130 when interrupted.
int suite_command(const RunCommandOptions& options, const Backends& backends);

}  // namespace hybridscope
