// How fast the window follows an attached engine: the bench mode of --attach.
#pragma once

#include <string>

#include "core/base/result.h"
#include "gui/gui_session.h"

namespace hybridscope {

// Draws as a window does while steps come, until none has come for a second. Returns a table of
// what was judged and shown, how fast, how far the window was behind, and the memory it took.
// Requires: an engine is attached. Errors: no step came; what ended the trace.
Result<std::string> run_attached_bench(GuiSession& session);

}  // namespace hybridscope
