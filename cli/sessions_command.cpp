#include "cli/sessions_command.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/common_options.h"
#include "cli/process.h"
#include "sessions/job/right_command.h"
#include "sessions/job/session_json.h"
#include "sessions/record/session_plan.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"
#include "storage/session_file.h"
#include "storage/session_reader.h"

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

namespace {

constexpr std::size_t kNameColumns = 44;

// "2026-11-21 23:41", UTC.
std::string format_time(std::int64_t time_us) {
  const std::time_t seconds = static_cast<std::time_t>(time_us / 1000000);
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(seconds));
}

std::string format_findings(const SessionInfo& info) {
  if (info.num_errors == 0 && info.num_warnings == 0) return "none";
  std::string text = counted(info.num_errors, "error");
  if (info.num_warnings > 0) text += ", " + counted(info.num_warnings, "warning");
  return text;
}

void print_table(const std::vector<SessionInfo>& sessions) {
  TextTable table({"<name", "<status", "<kind", "<level", "<model", "<mode", "<engine", "K",
                   "steps", "request-steps", "<findings", "<created (UTC)"});
  for (const SessionInfo& info : sessions)
    table.add(
        {printable(info.header.name, kNameColumns), std::string(session_status_name(info.status)),
         std::string(session_kind_name(info.header.kind)),
         std::string(record_level_name(info.header.level)),
         printable(info.header.model, kNameColumns), info.mamba_cache_mode,
         printable(info.header.engine, kNameColumns), std::to_string(info.num_speculative_tokens),
         grouped_number(info.num_steps), grouped_number(info.num_request_steps),
         format_findings(info), format_time(info.created_us)});
  fmt::print("{}", table.format());
  for (const SessionInfo& info : sessions) {
    if (!info.header.parent_name.empty())
      fmt::print("{}: forked from {} at step {}\n", printable(info.header.name),
                 printable(info.header.parent_name), info.header.forked_at);
    if (!info.status_reason.empty())
      fmt::print("{}: {}\n", printable(info.header.name), printable(info.status_reason));
    if (!info.note.empty())
      fmt::print("{}: note: {}\n", printable(info.header.name), printable(info.note));
  }
}

// Opens the file of `place` and does `work` with the session it names.
template <class Work>
int with_session(std::string_view command, const std::string& text, FileAccess access,
                 const Work& work) {
  const SessionPlace place = parse_session_place(text);
  auto file = SessionFile::open(place.file, access);
  if (!file.ok()) return report_error(command, name_right_command(command, text, file.error()));
  const auto info = file.value().find(place.name);
  if (!info.ok()) return report_error(command, info.error());
  const Status done = work(file.value(), info.value());
  if (done.ok()) return kExitFine;
  // A name or a note that cannot be.
  return report_error(command, done.error(), ErrorKind::invalid_input);
}

int list_sessions(const std::string& path, bool json) {
  if (!takes_file_alone("sessions list", path)) return kExitUsage;
  const auto file = SessionFile::open(path, FileAccess::read);
  if (!file.ok())
    return report_error("sessions list", name_right_command("sessions list", path, file.error()));
  const auto sessions = file.value().sessions();
  if (!sessions.ok()) return report_error("sessions list", sessions.error());
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const SessionInfo& info : sessions.value()) list.push_back(session_to_json(info));
    print_json(list);
  } else if (sessions.value().empty()) {
    fmt::print("{} holds no session\n", path);
  } else {
    print_table(sessions.value());
  }
  return kExitFine;
}

CLI::Option* add_place(CLI::App& app, std::string& place) {
  return app
      .add_option(
          "session", place,
          "session file and, after a colon, a session's name; without one, the session begun last")
      ->required()
      ->type_name("FILE.db[:NAME]");
}

Subcommand add_sessions_list(CLI::App& sessions) {
  CLI::App& app = *sessions.add_subcommand("list", "the sessions of a file, oldest first");
  app.footer(
      "Examples:\n"
      "  hybridscope sessions list runs.db\n"
      "  hybridscope sessions list runs.db --json | jq -r \".[].name\"");
  const auto path = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  app.add_option("file", *path, "session file")->required()->type_name("FILE.db");
  app.add_flag("--json", *json, "one array of objects");
  return {&app, [=] { return list_sessions(*path, *json); }};
}

Subcommand add_sessions_delete(CLI::App& sessions) {
  CLI::App& app =
      *sessions.add_subcommand("delete", "delete a session with everything recorded of it");
  app.footer(
      "Examples:\n"
      "  hybridscope sessions delete runs.db:before");
  const auto place = std::make_shared<std::string>();
  add_place(app, *place)
      ->description("session file and, after a colon, the session's name")
      ->type_name("FILE.db:NAME");
  return {&app, [=] {
            if (parse_session_place(*place).name.empty())
              return report_usage(
                  "sessions delete",
                  fmt::format("\"{}\" names no session, expected FILE.db:NAME (hybridscope "
                              "sessions list FILE.db)",
                              *place));
            return with_session("sessions delete", *place, FileAccess::write,
                                [](SessionFile& file, const SessionInfo& info) {
                                  return file.remove(info.session);
                                });
          }};
}

Subcommand add_sessions_rename(CLI::App& sessions) {
  CLI::App& app = *sessions.add_subcommand("rename", "rename a session");
  app.footer(
      "Examples:\n"
      "  hybridscope sessions rename runs.db:before \"before the fix\"");
  const auto place = std::make_shared<std::string>();
  const auto name = std::make_shared<std::string>();
  add_place(app, *place);
  app.add_option("name", *name, "its new name")->required()->type_name("NAME");
  return {&app, [=] {
            return with_session("sessions rename", *place, FileAccess::write,
                                [&](SessionFile& file, const SessionInfo& info) {
                                  return file.rename(info.session, *name);
                                });
          }};
}

Subcommand add_sessions_note(CLI::App& sessions) {
  CLI::App& app = *sessions.add_subcommand("note", "write a note to a session, \"\" removes it");
  app.footer(
      "Examples:\n"
      "  hybridscope sessions note runs.db:before \"with --engine reference\"\n"
      "  hybridscope sessions note runs.db:before \"\"");
  const auto place = std::make_shared<std::string>();
  const auto note = std::make_shared<std::string>();
  add_place(app, *place);
  app.add_option("text", *note, "the note, UTF-8")->required()->type_name("TEXT");
  return {&app, [=] {
            return with_session("sessions note", *place, FileAccess::write,
                                [&](SessionFile& file, const SessionInfo& info) {
                                  return file.set_note(info.session, *note);
                                });
          }};
}

struct BookmarkOptions {
  std::string place;
  std::int64_t step = 0;    // to mark, 0: none
  std::int64_t remove = 0;  // number of the bookmark, 0: none
  std::string note;

  bool changes() const { return step != 0 || remove != 0; }
};

Status add_bookmark(const BookmarkOptions& options, SessionFile& file, const SessionInfo& info) {
  const auto added = file.add_bookmark(info.session, options.step, options.note);
  if (added.ok()) return Ok{};
  if (added.error().kind != ErrorKind::not_found) return added.error();
  const auto reader = SessionReader::open({.file = file.path(), .name = info.header.name});
  if (!reader.ok()) return reader.error();
  return Error{ErrorKind::not_found,
               fmt::format("{}: there is no step {}, expected one of the steps {} to {}",
                           reader.value()->title(), options.step, reader.value()->first_step(),
                           reader.value()->last_step())};
}

Status change_and_list_bookmarks(const BookmarkOptions& options, SessionFile& file,
                                 const SessionInfo& info) {
  if (options.remove != 0) return file.remove_bookmark(info.session, options.remove);
  if (options.step != 0)
    if (Status added = add_bookmark(options, file, info); !added.ok()) return added;
  const auto bookmarks = file.bookmarks(info.session);
  if (!bookmarks.ok()) return bookmarks.error();
  TextTable table({"id", "step", "<note"});
  for (const Bookmark& mark : bookmarks.value())
    table.add({std::to_string(mark.bookmark), std::to_string(mark.step), printable(mark.note)});
  fmt::print("{}", table.empty() ? "no bookmarks\n" : table.format());
  return Ok{};
}

Subcommand add_sessions_bookmark(CLI::App& sessions) {
  CLI::App& app = *sessions.add_subcommand(
      "bookmark", "mark a step, with a note; without --step list the bookmarks");
  app.footer(
      "Examples:\n"
      "  hybridscope sessions bookmark runs.db:before --step 12 --note \"the first wrong copy\"\n"
      "  hybridscope sessions bookmark runs.db:before\n"
      "  hybridscope sessions bookmark runs.db:before --remove 1");
  const auto options = std::make_shared<BookmarkOptions>();
  add_place(app, options->place);
  CLI::Option* step = app.add_option("--step", options->step, "the step to mark")
                          ->type_name("STEP")
                          ->check(CLI::Range(std::int64_t{1}, INT64_MAX, "a step from 1 on"));
  app.add_option("--note", options->note, "what to remember")->type_name("TEXT")->needs(step);
  app.add_option("--remove", options->remove, "remove the bookmark of this number")
      ->type_name("ID")
      ->check(CLI::Range(std::int64_t{1}, INT64_MAX, "a number from 1 on"))
      ->excludes(step);
  return {&app, [=] {
            return with_session("sessions bookmark", options->place,
                                options->changes() ? FileAccess::write : FileAccess::read,
                                [&](SessionFile& file, const SessionInfo& info) {
                                  return change_and_list_bookmarks(*options, file, info);
                                });
          }};
}

Subcommand add_rerun(CLI::App& sessions) {
  const auto options = std::make_shared<SessionsRerunOptions>();
  CLI::App& app = add_sessions_rerun(sessions, *options);
  return {&app, [options] { return sessions_rerun_command(*options); }};
}

Subcommand add_fork(CLI::App& sessions) {
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
  const std::vector<Subcommand> subcommands = {
      add_sessions_list(sessions),     add_sessions_show(sessions),   add_sessions_stats(sessions),
      add_sessions_query(sessions),    add_rerun(sessions),           add_fork(sessions),
      add_sessions_export(sessions),   add_sessions_import(sessions), add_sessions_note(sessions),
      add_sessions_bookmark(sessions), add_sessions_rename(sessions), add_sessions_delete(sessions),
  };
  for (const Subcommand& subcommand : subcommands) add_exit_codes(*subcommand.app);
  return run_given(subcommands);
}

}  // namespace hybridscope
