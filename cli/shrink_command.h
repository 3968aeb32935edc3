// hybridscope shrink: a smaller scenario or trace that still shows a finding.
#pragma once

#include <functional>

#include "cli/cli_fwd.h"

namespace hybridscope {

// Options and examples; the function runs the command.
std::function<int()> add_shrink_command(CLI::App& shrink);

}  // namespace hybridscope
