// hybridscope export: a scenario's run in the forms that vLLM's developers use.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace hybridscope {

// Options and examples; the function runs the command.
std::function<int()> add_export_command(CLI::App& command);

}  // namespace hybridscope
