// `hybridscope conformance`: recomputes reference vectors and compares every field.
#pragma once

#include <string>
#include <vector>

#include "cli/backends.h"
#include "cli/cli_fwd.h"

namespace hybridscope {

struct ConformanceCommandOptions {
  std::vector<std::string> paths;  // files or folders
  std::string filter;              // only cases whose id contains it
  bool json = false;
  bool timings = true;
  std::string junit;  // file to write, empty: none
};

void add_conformance_options(CLI::App& command, ConformanceCommandOptions& options);

// Returns the exit code: 3 for any line that is no vector, else 1 for any difference, 2 when no
// case was selected.
int conformance_command(const ConformanceCommandOptions& options, const Backends& backends);

}  // namespace hybridscope
