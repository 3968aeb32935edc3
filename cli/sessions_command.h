// `hybridscope sessions ...`: what can be done with recorded sessions, one row per subcommand.
#pragma once

#include <functional>

#include "cli/cli_fwd.h"

namespace hybridscope {

// One subcommand: run() is called when it was given.
struct SessionsSubcommand {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

// Adds the subcommands to `sessions`; returns a function that runs the one that was given.
std::function<int()> add_sessions_command(CLI::App& sessions);

}  // namespace hybridscope
