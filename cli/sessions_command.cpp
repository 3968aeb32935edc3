#include "cli/sessions_command.h"

#include <vector>

#include "cli/exit_codes.h"
#include "cli/sessions_export.h"
#include "cli/sessions_import.h"
#include "cli/sessions_list.h"
#include "cli/sessions_query.h"
#include "cli/sessions_show.h"

namespace hybridscope {

std::function<int()> add_sessions_command(CLI::App& sessions) {
  sessions.require_subcommand(1);
  sessions.footer(
      "Examples:\n"
      "  hybridscope run scenarios/plain_decode.json --record runs.db:before\n"
      "  hybridscope sessions list runs.db\n"
      "  hybridscope sessions show runs.db:before --step 2 --explain\n"
      "  hybridscope diff runs.db:before runs.db:after\n"
      "\n"
      "Exit codes: 0 fine, 2 usage, 3 no session file, no such session or step, 4 environment\n"
      "(locked, disk full, read-only). The file format: docs/session-format.md.");
  const std::vector<SessionsSubcommand> subcommands = {
      add_sessions_list(sessions),   add_sessions_show(sessions),   add_sessions_stats(sessions),
      add_sessions_query(sessions),  add_sessions_note(sessions),   add_sessions_bookmark(sessions),
      add_sessions_rename(sessions), add_sessions_delete(sessions), add_sessions_export(sessions),
      add_sessions_import(sessions),
  };
  return [subcommands] {
    for (const SessionsSubcommand& subcommand : subcommands)
      if (subcommand.app->parsed()) return subcommand.run();
    return static_cast<int>(kExitUsage);
  };
}

}  // namespace hybridscope
