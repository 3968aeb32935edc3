// What the workbench starts with: the command line makes it, the window takes it, and neither
// knows the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sessions/run/run_plan.h"

namespace hybridscope {

struct GuiStart {
  std::string program = {};          // "hybridscope 0.1.0": in files that are written
  std::string open = {};             // file to open; empty: none
  std::optional<RunPlan> plan = {};  // a run that is made of options; none: see `open`
  std::string script = {};           // file of commands to carry out first; empty: none
  std::string screenshot = {};       // PNG to write once all is drawn; empty: stay
  bool bench = false;                // measure, print the figures, and end
  std::int32_t width = 0;            // of the window, in pixels; 0: as it was the last time
  std::int32_t height = 0;
  bool offscreen = false;                  // draw without a window; not to stay
  std::vector<std::string> commands = {};  // carried out before the script: "view.theme light"
};

}  // namespace hybridscope
