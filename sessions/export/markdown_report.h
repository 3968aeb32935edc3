// A run as an issue report in Markdown: flags, a table of its steps, the first wrong state and the
// writes behind it, the scenario to reproduce it.
#pragma once

#include <string>

#include "sessions/export/exported_run.h"

namespace hybridscope {

// `reproduce`: the command that runs the scenario again, in a shell.
std::string markdown_report(const ExportedRun& run, const std::string& reproduce);

}  // namespace hybridscope
