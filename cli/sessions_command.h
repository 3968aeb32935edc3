// `hybridscope sessions ...`: what can be done with recorded sessions, one row per subcommand.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/common_options.h"
#include "core/base/result.h"
#include "core/check/step_checker.h"
#include "sessions/live/fork.h"
#include "sessions/run/run_plan.h"
#include "storage/session_file.h"

namespace hybridscope {

// The plan of a recorded session, for the commands that run it again.

struct RecordedPlan {
  SessionPlace place;  // its name filled in
  SessionInfo info;
  RunPlan plan;
};

// `place`: FILE.db[:NAME]. Errors: those of SessionFile; a session of `judge`, which our engine did
// not make; a plan that this version cannot read.
Result<RecordedPlan> open_recorded_plan(std::string_view place);

// Whether `text` names a file without a session; reports on stderr when it does not.
bool takes_file_alone(std::string_view command, const std::string& text);

// Adds the subcommands to `sessions`; returns a function that runs the one that was given.
std::function<int()> add_sessions_command(CLI::App& sessions);

// `sessions export`: a recorded session as an HTML report, as JSON Lines, as a trace.

Subcommand add_sessions_export(CLI::App& sessions);

// `sessions import`: turns a session's JSON Lines back into a session in a file.

Subcommand add_sessions_import(CLI::App& sessions);

// `sessions query` and `sessions stats`: a session file as numbers.

Subcommand add_sessions_query(CLI::App& sessions);
Subcommand add_sessions_stats(CLI::App& sessions);

// `sessions show`: a session in the terminal: what it is, its steps, one step in words.

Subcommand add_sessions_show(CLI::App& sessions);

// `hybridscope sessions rerun`: does a recorded session reproduce?

struct SessionsRerunOptions {
  std::string place = {};                // FILE.db[:NAME]
  std::optional<CheckScope> check = {};  // otherwise as it was recorded
  bool json = false;
};

// The command, below `sessions`.
CLI::App& add_sessions_rerun(CLI::App& sessions, SessionsRerunOptions& options);

// kExitFine: every step is as it was recorded; kExitFindings: not.
int sessions_rerun_command(const SessionsRerunOptions& options);

// `hybridscope sessions fork`: runs a recorded session again with changes from a step on.

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
  StepFileOptions files = {};
};

// The command, below `sessions`.
CLI::App& add_sessions_fork(CLI::App& sessions, SessionsForkOptions& options);

// What the options ask for. Error: text that is not a count or not a policy.
Result<ForkAt> fork_of(const SessionsForkOptions& options);

// kExitFine: it ran without an error finding; kExitFindings: with one.
int sessions_fork_command(const SessionsForkOptions& options);

}  // namespace hybridscope
