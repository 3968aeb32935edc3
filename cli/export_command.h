// hybridscope export: a scenario's run in the forms that vLLM's developers use.
#pragma once

#include <functional>

#include "cli/cli_fwd.h"

namespace hybridscope {

// Options and examples; the function runs the command.
std::function<int()> add_export_command(CLI::App& command);

}  // namespace hybridscope
