// `hybridscope diff`: two sessions side by side, recorded ones or a scenario run twice.
#pragma once

#include "cli/diff_options.h"

namespace hybridscope {

// Returns the exit code: 1 when there are differences.
int diff_command(const DiffOptions& options);

}  // namespace hybridscope
