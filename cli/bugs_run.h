// Runs bugs and their healthy twins, and holds both against their files.
#pragma once

#include "cli/bugs_words.h"

namespace hybridscope {

BugsSubcommand add_bugs_run(CLI::App& bugs);

}  // namespace hybridscope
