// hybridscope matrix: which combinations of settings are safe in an engine.
#pragma once

#include <functional>

#include "cli/backends.h"
#include "cli/cli_fwd.h"

namespace hybridscope {

// Options and examples; the function runs the command. `backends` is to live as long.
std::function<int()> add_matrix_command(CLI::App& matrix, const Backends& backends);

}  // namespace hybridscope
