#include "cli/sessions_command.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/report_error.h"
#include "cli/sessions_export.h"
#include "cli/sessions_fork.h"
#include "cli/sessions_import.h"
#include "cli/sessions_list.h"
#include "cli/sessions_query.h"
#include "cli/sessions_rerun.h"
#include "cli/sessions_show.h"
#include "sessions/job/right_command.h"
#include "sessions/record/session_plan.h"

namespace hybridscope {

Result<RecordedPlan> open_recorded_plan(std::string_view text) {
  RecordedPlan recorded;
  recorded.place = parse_session_place(text);
  auto file = SessionFile::open(recorded.place.file, FileAccess::read);
  if (!file.ok()) return name_right_command("sessions", std::string(text), file.error());
  auto info = file.value().find(recorded.place.name);
  if (!info.ok()) return info.error();
  recorded.info = std::move(info).value();
  const SessionHeader& header = recorded.info.header;
  recorded.place.name = header.name;
  const std::string title = fmt::format("{}:{}", recorded.place.file, header.name);
  if (header.kind == SessionKind::judge)
    return invalid_input(
        fmt::format("{} holds the decisions of another engine ({}), which cannot be run again here",
                    title, header.source));
  auto plan = read_session_plan(header.plan, title);
  if (!plan.ok()) return plan.error();
  recorded.plan = std::move(plan).value();
  return recorded;
}

bool takes_file_alone(std::string_view command, const std::string& text) {
  const SessionPlace place = parse_session_place(text);
  if (place.name.empty()) return true;
  report_message(command, fmt::format("{}: takes a file without a session's name, expected {}",
                                      text, place.file));
  return false;
}

int fail_sessions(std::string_view command, const Error& error) {
  return report_error(fmt::format("sessions {}", command), error);
}

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
