// The loop that draws the workbench when there is something new to see.
#pragma once

#include <cstdint>
#include <functional>

#include "gui/gui_session.h"

namespace hybridscope {

// Microseconds of a clock that only goes forward.
std::int64_t now_us();

// Draws when the user did something or the run advanced, until `is_over` or the window is closed.
void run_loop(GuiSession& session, const std::function<bool()>& is_over);

// Works until the window has all that the attached engine has written so far, or its trace has
// ended; at most ten seconds.
void wait_for_engine(Workbench& workbench);

// Works until the run has stopped, all differences are listed and all files are read.
void settle(Workbench& workbench);

}  // namespace hybridscope
