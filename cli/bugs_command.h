// `hybridscope bugs`: the catalogue of known bugs, listed, told and run.
#pragma once

#include <functional>

#include "cli/cli_fwd.h"

namespace hybridscope {

// Adds the subcommands; the result runs the one that was given.
std::function<int()> add_bugs_command(CLI::App& bugs);

}  // namespace hybridscope
