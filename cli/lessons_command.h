// `hybridscope lessons ...`: list, show, take, check and export lessons.
#pragma once

#include <functional>

#include "cli/cli_fwd.h"
#include "sessions/job/backends.h"

namespace hybridscope {

// Adds the subcommands to `lessons`; the result runs the one that was given, or lists.
std::function<int()> add_lessons_command(CLI::App& lessons, const Backends& backends);

}  // namespace hybridscope
