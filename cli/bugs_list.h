// Every known bug, or what a release fixed.
#pragma once

#include "cli/bugs_words.h"

namespace hybridscope {

// What one is, when it lived, and what it does.

BugsSubcommand add_bugs_show(CLI::App& bugs);

BugsSubcommand add_bugs_list(CLI::App& bugs);

}  // namespace hybridscope
