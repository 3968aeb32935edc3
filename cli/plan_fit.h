// hybridscope plan fit: a step time from recorded traces.
#pragma once

#include <functional>

#include "cli/cli_fwd.h"

namespace hybridscope {

// Adds the subcommand; the result runs it.
std::function<int()> add_plan_fit(CLI::App& plan);

}  // namespace hybridscope
