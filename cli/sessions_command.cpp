#include "cli/sessions_command.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/sessions_export.h"
#include "cli/sessions_fork.h"
#include "cli/sessions_import.h"
#include "cli/sessions_list.h"
#include "cli/sessions_query.h"
#include "cli/sessions_rerun.h"
#include "cli/sessions_show.h"

namespace hybridscope {

namespace {

SessionsSubcommand add_rerun(CLI::App& sessions) {
  const auto options = std::make_shared<SessionsRerunOptions>();
  CLI::App& app = add_sessions_rerun(sessions, *options);
  return {&app, [options] { return sessions_rerun_command(*options); }};
}

SessionsSubcommand add_fork(CLI::App& sessions) {
  const auto options = std::make_shared<SessionsForkOptions>();
  CLI::App& app = add_sessions_fork(sessions, *options);
  return {&app, [options] { return sessions_fork_command(*options); }};
}

// Adds the exit codes to the help of a subcommand that has none of its own.
void add_exit_codes(CLI::App& subcommand) {
  const std::string help = subcommand.get_footer();
  if (help.find("Exit codes: ") != std::string::npos) return;
  subcommand.footer(help +
                    "\n\nExit codes: 0 fine, 2 usage, 3 no session file, no such session or step,\n"
                    "4 environment (locked, disk full, read-only).");
}

}  // namespace

std::function<int()> add_sessions_command(CLI::App& sessions) {
  sessions.require_subcommand(1);
  sessions.footer(
      "Examples:\n"
      "  hybridscope run scenarios/plain_decode.json --record runs.db:before\n"
      "  hybridscope sessions list runs.db\n"
      "  hybridscope sessions show runs.db:before --step 2 --explain\n"
      "  hybridscope diff runs.db:before runs.db:after\n"
      "\n"
      "Exit codes: 0 fine, 1 a session that does not reproduce, 2 usage, 3 no session file, no "
      "such\n"
      "session or step, a query that cannot be run, 4 environment (locked, disk full, read-only).\n"
      "The file format: docs/session-format.md.");
  const std::vector<SessionsSubcommand> subcommands = {
      add_sessions_list(sessions),     add_sessions_show(sessions),   add_sessions_stats(sessions),
      add_sessions_query(sessions),    add_rerun(sessions),           add_fork(sessions),
      add_sessions_export(sessions),   add_sessions_import(sessions), add_sessions_note(sessions),
      add_sessions_bookmark(sessions), add_sessions_rename(sessions), add_sessions_delete(sessions),
  };
  for (const SessionsSubcommand& subcommand : subcommands) add_exit_codes(*subcommand.app);
  return [subcommands] {
    for (const SessionsSubcommand& subcommand : subcommands)
      if (subcommand.app->parsed()) return subcommand.run();
    return static_cast<int>(kExitUsage);
  };
}

}  // namespace hybridscope
