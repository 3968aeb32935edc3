// `hybridscope sessions ...`: what can be done with recorded sessions, one row per subcommand.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/cli_fwd.h"
#include "core/base/result.h"
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

// "hybridscope sessions rerun: MESSAGE" on stderr; the exit code for it.
int fail_sessions(std::string_view command, const Error& error);

// One subcommand: run() is called when it was given.
struct SessionsSubcommand {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

// Adds the subcommands to `sessions`; returns a function that runs the one that was given.
std::function<int()> add_sessions_command(CLI::App& sessions);

}  // namespace hybridscope
