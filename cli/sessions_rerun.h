// `hybridscope sessions rerun`: does a recorded session reproduce?
#pragma once

#include <optional>
#include <string>

#include "cli/cli_fwd.h"
#include "core/check/step_checker.h"

namespace hybridscope {

struct SessionsRerunOptions {
  std::string place = {};                // FILE.db[:NAME]
  std::optional<CheckScope> check = {};  // otherwise as it was recorded
  bool json = false;
};

// The command, below `sessions`.
CLI::App& add_sessions_rerun(CLI::App& sessions, SessionsRerunOptions& options);

// kExitFine: every step is as it was recorded; kExitFindings: not.
int sessions_rerun_command(const SessionsRerunOptions& options);

}  // namespace hybridscope
