// `hybridscope sessions fork`: a recorded session goes another way from a step on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli_fwd.h"
#include "cli/record_option.h"
#include "core/base/result.h"
#include "sessions/live/fork.h"

namespace hybridscope {

struct SessionsForkOptions {
  std::string place = {};  // FILE.db[:NAME]
  std::int32_t step = 0;
  std::vector<std::string> accept = {};  // "A=2"
  std::vector<std::string> drafts = {};
  std::vector<std::string> preempt = {};
  std::vector<std::string> abort = {};
  std::vector<std::string> policies = {};  // "no_draft_step=column_zero"
  std::string engine = {};                 // empty: stays
  std::int32_t budget = 0;                 // 0: stays
  bool reset = false;
  bool reset_running = false;
  bool drop_script = false;
  RecordOption record = {};
};

// The command, below `sessions`.
CLI::App& add_sessions_fork(CLI::App& sessions, SessionsForkOptions& options);

// What the options ask for. Error: text that is no count or no policy.
Result<ForkAt> fork_of(const SessionsForkOptions& options);

// kExitFine: it ran without an error finding; kExitFindings: with one.
int sessions_fork_command(const SessionsForkOptions& options);

}  // namespace hybridscope
