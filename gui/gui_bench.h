// How fast the workbench draws and scrubs, as a table: the bench mode.
#pragma once

#include <string>

#include "core/base/result.h"
#include "gui/gui_session.h"

namespace hybridscope {

// Draws the first frame of what is open, then the same step repeatedly, then known steps at
// random; a window is then left idle. Returns a table with one figure per line: milliseconds from a
// command until the pixels are there. Errors: those of going to a step.
Result<std::string> run_gui_bench(GuiSession& session);

}  // namespace hybridscope
