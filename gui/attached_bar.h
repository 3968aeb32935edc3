// The line about the attached engine, above the run bar.
#pragma once

#include <string>

#include "core/base/result.h"
#include "gui/gui_session.h"
#include "gui/panel.h"

namespace hybridscope {

// Requires: an engine is attached.
void draw_attached_bar(PanelContext& context);
// In place of panels, before the first step has come.
void draw_waiting(PanelContext& context);

// How fast the window follows an attached engine: the bench mode of --attach.

// Draws as a window does while steps come, until none has come for a second. Returns a table of
// what was judged and shown, how fast, how far the window was behind, and the memory it took.
// Requires: an engine is attached. Errors: no step came; what ended the trace.
Result<std::string> run_attached_bench(GuiSession& session);

}  // namespace hybridscope
