// Runs bugs with and without their faults, and compares both runs with their files.
#pragma once

#include "cli/bugs_words.h"

namespace hybridscope {

BugsSubcommand add_bugs_run(CLI::App& bugs);

}  // namespace hybridscope
