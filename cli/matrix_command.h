// hybridscope matrix: which combinations of settings are safe in an engine.
#pragma once

#include <functional>

#include "cli/common_options.h"
#include "sessions/job/backends.h"

namespace hybridscope {

// Options and examples; the function runs the command. `backends` must outlive it.
std::function<int()> add_matrix_command(CLI::App& matrix, const Backends& backends);

}  // namespace hybridscope
