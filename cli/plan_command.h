// hybridscope plan: what a model and its settings hold, and which settings for its traffic.
#pragma once

#include <functional>

#include "cli/cli_fwd.h"

namespace hybridscope {

// Adds the options and the subcommand `fit`; the result runs what was given.
std::function<int()> add_plan_command(CLI::App& plan);

}  // namespace hybridscope
