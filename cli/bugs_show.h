// What one is, when it lived, and what it does.
#pragma once

#include "cli/bugs_words.h"

namespace hybridscope {

BugsSubcommand add_bugs_show(CLI::App& bugs);

}  // namespace hybridscope
