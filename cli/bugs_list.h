// `hybridscope bugs`: lists, shows and runs the catalogue of known bugs.
#pragma once

#include <functional>

#include "cli/cli_fwd.h"
#include "sessions/job/backends.h"

namespace hybridscope {

// Adds the subcommands; the result runs the one that was given. `backends` must outlive it.
std::function<int()> add_bugs_command(CLI::App& bugs, const Backends& backends);

}  // namespace hybridscope
