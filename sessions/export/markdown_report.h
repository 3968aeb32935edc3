// A run as an issue report in Markdown: flags, a table of its steps, the first wrong state with the
// writes behind it, and the scenario to reproduce it.
#pragma once

#include <string>

#include "sessions/export/exported_run.h"

namespace hybridscope {

// `reproduce`: the shell command that runs the scenario again.
std::string markdown_report(const ExportedRun& run, const std::string& reproduce);

}  // namespace hybridscope
