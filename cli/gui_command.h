// `hybridscope gui`: the workbench, in a window or into a picture.
#pragma once

#include <string>
#include <vector>

#include "cli/cli_fwd.h"
#include "sessions/job/backends.h"
#include "sessions/job/settings_options.h"
#include "sessions/job/state_option.h"

namespace hybridscope {

struct GuiOptions {
  std::string file;     // scenario or session to open; empty: the start screen
  std::string attach;   // FILE or unix:PATH of a living engine
  RecordOption record;  // of what comes from it
  std::string traffic;  // file or "synthetic"
  TrafficOptions traffic_options;
  std::string model;
  std::int64_t limit = 0;
  SettingsOptions settings;
  StateOption state;  // the language model that runs on the decisions, and where
  std::string screenshot;
  std::string script;
  std::string size;  // "1600x1000"; empty: as it was the last time
  std::string theme;
  std::string scale;
  std::vector<std::string> commands;
  bool bench = false;
  bool lists_commands = false;
  bool window = false;  // a screenshot or bench of a real window
};

void add_gui_options(CLI::App& command, GuiOptions& options);
int gui_command(const GuiOptions& options, const Backends& backends);

}  // namespace hybridscope
