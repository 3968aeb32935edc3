// Runs bugs with and without their faults, and compares both runs with their files.
#pragma once

#include "cli/bugs_words.h"
#include "sessions/job/backends.h"

namespace hybridscope {

// `backends` must outlive it.
BugsSubcommand add_bugs_run(CLI::App& bugs, const Backends& backends);

}  // namespace hybridscope
