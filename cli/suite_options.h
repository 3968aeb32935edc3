// Which scenarios `hybridscope run` was told to run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cli_fwd.h"
#include "cli/shard.h"

namespace hybridscope {

struct SuiteOptions {
  std::vector<std::string> paths;  // scenario files, and folders of them
  std::string filter;              // glob on names, empty: all
  std::optional<Shard> shard;
  std::string failed_in;  // TAP report: only scenarios that failed there; empty: all

  // Is there more to it than one file? A folder, a filter or a shard makes a suite of one file.
  bool is_suite() const;
};

void add_suite_options(CLI::App& command, SuiteOptions& options);

}  // namespace hybridscope
