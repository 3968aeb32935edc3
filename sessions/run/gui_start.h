// The workbench's start options. The command line makes them and the window takes them, so neither
// depends on the other.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/language/language_machine.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

struct GuiStart {
  std::string program = {};               // "hybridscope 0.1.0"; goes into written files
  std::string open = {};                  // file to open; empty: none
  std::string weights = {};               // folder of a language model; empty: none runs
  std::string form = {};                  // recurrent or chunked; empty: recurrent
  MakeLanguageMachine make_machine = {};  // where language models run; null: on the host
  std::string attach = {};                // FILE or unix:PATH of a living engine; empty: none
  std::string record = {};                // FILE.db[:NAME] for its sessions; empty: temporary
  std::string record_level = {};          // counts, blocks or full
  std::optional<RunPlan> plan = {};       // a run made from options; none: see `open`
  std::vector<std::string> plan_files;    // that it was made from
  std::string script = {};                // file of commands to run first; empty: none
  std::string screenshot = {};  // PNG to write when everything is drawn; empty: keep running
  bool bench = false;           // measure, print the figures, and exit
  bool lists_commands = false;  // print the ids of commands and panels, and exit
  std::int32_t width = 0;       // of the window, in pixels; 0: as in the last session
  std::int32_t height = 0;
  bool offscreen = false;                     // draw without a window and exit
  std::function<bool()> is_interrupted = {};  // ends the window, so that its files are cleaned up
  std::vector<std::string> commands = {};     // run before the script: "view.theme light"
};

}  // namespace hybridscope
