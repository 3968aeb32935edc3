#include "cli/sessions_rerun.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/interrupt.h"
#include "cli/report_error.h"
#include "cli/sessions_command.h"
#include "sessions/live/rerun.h"
#include "sessions/record/live_source.h"
#include "sessions/record/step_source.h"
#include "sessions/text/number_words.h"
#include "storage/session_reader.h"

namespace hybridscope {
namespace {

std::string steps_text(std::int64_t count) {
  return fmt::format("{} step{}", grouped_number(count), count == 1 ? "" : "s");
}

void print_text(const std::string& title, const RerunReport& report) {
  if (report.reproduces()) {
    fmt::print("{} reproduces: {} as recorded\n", title, steps_text(report.num_equal));
    return;
  }
  fmt::print("{} does not reproduce here\n", title);
  fmt::print("  {} as recorded\n", steps_text(report.num_equal));
  if (report.num_different > 0)
    fmt::print("  {} otherwise, first step {}: {}\n", steps_text(report.num_different),
               report.first_different, section_list(report.sections));
  if (report.num_missing > 0)
    fmt::print("  {} recorded but not made again, first step {}\n", steps_text(report.num_missing),
               report.first_missing);
  if (report.num_extra > 0)
    fmt::print("  {} made now but not recorded, first step {}\n", steps_text(report.num_extra),
               report.first_extra);
}

void print_json(const std::string& title, const RerunReport& report) {
  nlohmann::ordered_json json = {{"session", title},
                                 {"reproduces", report.reproduces()},
                                 {"equal_steps", report.num_equal},
                                 {"different_steps", report.num_different},
                                 {"missing_steps", report.num_missing},
                                 {"extra_steps", report.num_extra}};
  if (report.num_different > 0) {
    json["first_different"] = {{"step", report.first_different}};
    for (const StepSection section : report.sections)
      json["first_different"]["sections"].push_back(step_section_name(section));
  }
  if (report.num_missing > 0) json["first_missing"] = report.first_missing;
  if (report.num_extra > 0) json["first_extra"] = report.first_extra;
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Result<RerunReport> rerun_session(const SessionsRerunOptions& options, std::string& title) {
  auto recorded = open_recorded_plan(options.place);
  if (!recorded.ok()) return recorded.error();
  auto source = open_session_source(recorded.value().place);
  if (!source.ok()) return source.error();
  title = source.value()->title();
  auto again = LiveSource::create(std::move(recorded.value().plan), RecordLevel::counts, "rerun",
                                  options.check.value_or(recorded.value().info.header.check));
  if (!again.ok()) return again.error();
  const bool whole = recorded.value().info.status == SessionStatus::complete;
  ask_for_interrupts();
  InterruptibleSource made(std::move(again).value(), was_interrupted);
  return rerun(made, *source.value(), whole ? RecordedEnd::of_the_run : RecordedEnd::before_it);
}

}  // namespace

CLI::App& add_sessions_rerun(CLI::App& sessions, SessionsRerunOptions& options) {
  CLI::App& command = *sessions.add_subcommand(
      "rerun", "run a session's plan again and compare every step with the recording");
  command.add_option("session", options.place, "the session; without a name the last one")
      ->required()
      ->type_name("FILE.db[:NAME]");
  command
      .add_option_function<std::string>(
          "--check",
          [&options](const std::string& scope) { options.check = check_scope_of(scope); },
          "step or all, instead of what the session was recorded with; findings are compared too")
      ->check(CLI::IsMember({"step", "all"}))
      ->type_name("SCOPE");
  command.add_flag("--json", options.json, "the result as one JSON object");
  command.footer(
      "Examples:\n"
      "  hybridscope sessions rerun runs.db:before\n"
      "  hybridscope sessions rerun runs.db:before --check all --json\n"
      "\n"
      "Exit codes: 0 it reproduces, 1 a step differs, is missing or is one too many, 2 usage,\n"
      "3 no such session, a session that cannot be run again, 4 environment.");
  return command;
}

int sessions_rerun_command(const SessionsRerunOptions& options) {
  std::string title;
  const auto report = rerun_session(options, title);
  if (!report.ok()) {
    const int by_kind = fail_sessions("rerun", report.error());
    return was_interrupted() ? static_cast<int>(kExitInterrupted) : by_kind;
  }
  if (options.json)
    print_json(title, report.value());
  else
    print_text(title, report.value());
  return report.value().reproduces() ? kExitFine : kExitFindings;
}

}  // namespace hybridscope
