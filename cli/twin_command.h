// `hybridscope run --twin`: a scenario run twice, as told and with its twin's settings.
#pragma once

#include "cli/run_options.h"

namespace hybridscope {

// Returns the exit code: 1 when the runs sample other tokens, accept other counts, or have
// findings.
int twin_command(const RunOptions& options);

}  // namespace hybridscope
