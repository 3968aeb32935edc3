// The workbench as a program: the loop that draws it.
#pragma once

#include <string>

#include "core/base/result.h"
#include "gui/gui_session.h"
#include "sessions/run/gui_start.h"

namespace hybridscope {

// Shows the workbench until it is closed, or until the screenshot is written. Errors:
// device, no display or no OpenGL; what keeps a screenshot's run, script or file from being
// read or written. Without a screenshot, files that cannot be opened are reported in the window.
Status run_gui(GuiStart start);

// The libraries behind the window, one line: "ImGui 1.86, GLFW 3.3.8, OpenGL 4.5 (llvmpipe), font
// DejaVu, no display".
std::string describe_gui();

}  // namespace hybridscope
