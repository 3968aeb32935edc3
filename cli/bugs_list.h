// Every known bug, or what a release fixed.
#pragma once

#include "cli/bugs_words.h"

namespace hybridscope {

BugsSubcommand add_bugs_list(CLI::App& bugs);

}  // namespace hybridscope
