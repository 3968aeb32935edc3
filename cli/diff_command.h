// `hybridscope diff`: two sessions side by side, recorded ones or a scenario run twice.
#pragma once

#include <string>

#include "cli/cli_fwd.h"
#include "core/base/result.h"
#include "sessions/job/diff_comparison.h"

namespace hybridscope {

struct DiffCommandOptions : DiffOptions {
  bool json = false;
  std::string html;  // the page to write; "-": standard output, empty: none
};

void add_diff_options(CLI::App& command, DiffCommandOptions& options);

// Prints the report, or writes the page first. Returns the exit code: 1 when there are differences.
int diff_command(const DiffCommandOptions& options);

}  // namespace hybridscope
