#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "cli/common_options.h"
#include "cli/process.h"
#include "cli/sessions_command.h"
#include "sessions/explain/explain_names.h"
#include "sessions/job/step_files.h"
#include "sessions/live/fork.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/step_digests.h"
#include "sessions/record/step_record.h"
#include "sessions/record/step_recorder.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/finding_list.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/number_words.h"
#include "storage/session_reader.h"

namespace hybridscope {
namespace {

void print_text(const std::string& title, const RerunReport& report) {
  if (report.reproduces()) {
    fmt::print("{} reproduces: {} as recorded\n", title, counted(report.num_equal, "step"));
    return;
  }
  fmt::print("{} does not reproduce here\n", title);
  fmt::print("  {} as recorded\n", counted(report.num_equal, "step"));
  if (report.num_different > 0)
    fmt::print("  {} otherwise, first step {}: {}\n", counted(report.num_different, "step"),
               report.first_different, section_list(report.sections));
  if (report.num_missing > 0)
    fmt::print("  {} recorded but not made again, first step {}\n",
               counted(report.num_missing, "step"), report.first_missing);
  if (report.num_extra > 0)
    fmt::print("  {} made now but not recorded, first step {}\n", counted(report.num_extra, "step"),
               report.first_extra);
}

nlohmann::ordered_json rerun_to_json(const std::string& title, const RerunReport& report) {
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
  return json;
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
    const int by_kind = report_error("sessions rerun", report.error());
    return was_interrupted() ? static_cast<int>(kExitInterrupted) : by_kind;
  }
  if (options.json)
    print_json(rerun_to_json(title, report.value()));
  else
    print_text(title, report.value());
  return report.value().reproduces() ? kExitFine : kExitFindings;
}

namespace {

constexpr const char* kFork = "sessions fork";

struct NameValue {
  std::string name;
  std::string value;
};

// Split at the last '=', because names may contain one.
Result<NameValue> name_and_value(std::string_view option, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return invalid_input(fmt::format("{} {}: expected NAME=VALUE", option, text));
  return NameValue{text.substr(0, equals), text.substr(equals + 1)};
}

Status read_counts(std::string_view option, const std::vector<std::string>& texts,
                   std::int32_t least, std::vector<RequestCount>& counts) {
  for (const std::string& text : texts) {
    const auto parts = name_and_value(option, text);
    if (!parts.ok()) return parts.error();
    const std::string& digits = parts.value().value;
    RequestCount count{.request = parts.value().name};
    const auto end = digits.data() + digits.size();
    if (const auto read = std::from_chars(digits.data(), end, count.count);
        read.ec != std::errc{} || read.ptr != end)
      return invalid_input(fmt::format("{} {}: {} is not a number", option, text, digits));
    if (count.count < least)
      return invalid_input(fmt::format("{} {}: {} is {}, expected {} or more", option, text,
                                       count.request, count.count, least));
    counts.push_back(std::move(count));
  }
  return Ok{};
}

Status read_policies(const SessionsForkOptions& options, ScriptStep& changes) {
  EngineSettings settings;
  if (!options.engine.empty())
    if (Status set = set_setting_text(settings, *find_setting("", "engine"), options.engine);
        !set.ok())
      return set;
  for (const std::string& text : options.policies) {
    const auto parts = name_and_value("--policy", text);
    if (!parts.ok()) return parts.error();
    const Setting* setting = find_setting("policies", parts.value().name);
    if (setting == nullptr)
      return invalid_input(
          fmt::format("--policy {}: no policy is called {}", text, parts.value().name));
    if (Status set = set_setting_text(settings, *setting, parts.value().value); !set.ok())
      return set;
  }
  changes.engine = settings.engine;
  changes.policies = settings.policies;
  return Ok{};
}

SessionHeader header_of(const RecordedPlan& parent, const RunPlan& fork, std::int32_t step) {
  SessionHeader header = parent.info.header;
  header.name.clear();
  header.kind = SessionKind::run;
  header.plan = write_session_plan(fork);
  header.config = fork.setup.config;
  header.parent_name = parent.info.header.name;
  header.forked_at = step;
  return header;
}

Result<RunPlan> forked_plan(const RecordedPlan& parent, const ForkAt& at, std::int64_t last_step) {
  if (at.step > last_step)
    return invalid_input(fmt::format("--at {}: {}:{} ends with step {}", at.step, parent.place.file,
                                     parent.place.name, last_step));
  return fork_plan(parent.plan, at);
}

// A fork as it runs: compared with its parent, checked, and recorded when asked to.
class ForkRun {
 public:
  explicit ForkRun(CheckedRun run)
      : run_(std::move(run)), names_(make_names(run_.engine())), digester_(names_.request) {}
  ForkRun(const ForkRun&) = delete;
  ForkRun& operator=(const ForkRun&) = delete;

  // The files that are written from the first step on. Errors: those of StepFiles::begin.
  Status begin_files(const StepFileOptions& options, const SessionHeader& header) {
    auto files = StepFiles::begin(options, {.header = [&] { return header; },
                                            .names = names_,
                                            .engine = &run_.engine(),
                                            .plan = &run_.plan()});
    if (!files.ok()) return files.error();
    files_ = std::move(files).value();
    return Ok{};
  }

  // To the run's end or to Ctrl-C. Error: a step that differs from the parent's, what the engine
  // refuses, what keeps the file from being written.
  Status run(ForkGuard& guard) {
    if (const std::string note = guard.note(); !note.empty()) report_note(note);
    SinkOf compared([&](const CheckedStep& step) {
      findings_.add(step.trace, step.findings, {}, names_);
      return guard.check(step.trace.step, digester_.digest(step.trace, step.findings));
    });
    StepSink* const sinks[] = {&compared, &files_};
    const auto driven = drive(run_, sinks, was_interrupted);
    Status ended = driven.ok() ? Ok{} : Status(driven.error());
    if (ended.ok() && !was_interrupted()) ended = guard.finish();
    const Status finished = files_.finish(steps_end(ended));
    return ended.ok() ? finished : ended;
  }

  std::int64_t num_steps() const { return run_.num_steps(); }
  const FindingList& findings() const { return findings_; }

 private:
  StepsEnd steps_end(const Status& ended) const {
    if (!ended.ok()) return {.status = SessionStatus::failed, .reason = ended.error().message};
    if (run_.end() == EndReason::finished) return {};
    if (was_interrupted()) return {.status = SessionStatus::interrupted, .reason = "interrupted"};
    return {.status = SessionStatus::stopped, .reason = "it cannot progress"};
  }

  CheckedRun run_;
  Names names_;
  StepDigester digester_;
  StepFiles files_;
  FindingList findings_;
};

void print_report(const ForkRun& run, const SessionsForkOptions& options) {
  for (const KeptFinding* kept : run.findings().shown()) fmt::print("{}\n", kept->text);
  fmt::print("forked {} at step {}: {}{} steps, {}, {}\n", options.place, options.step,
             was_interrupted() ? "interrupted after " : "", grouped_number(run.num_steps()),
             counted(run.findings().num_found(Severity::error), "finding"),
             counted(run.findings().num_found(Severity::warning), "warning"));
}

}  // namespace

CLI::App& add_sessions_fork(CLI::App& sessions, SessionsForkOptions& options) {
  CLI::App& command =
      *sessions.add_subcommand("fork", "run a session again, changed from a step on");
  command.add_option("session", options.place, "the session; without a name the last one")
      ->required()
      ->type_name("FILE.db[:NAME]");
  command.add_option("--at", options.step, "the first step that may differ")
      ->required()
      ->check(CLI::Range(std::int32_t{1}, INT32_MAX, "a step from 1 on"))
      ->type_name("STEP");
  command.add_option("--accept", options.accept, "tokens accepted in that step, bonus included")
      ->type_name("REQUEST=COUNT");
  command.add_option("--drafts", options.drafts, "drafts offered in that step")
      ->type_name("REQUEST=COUNT");
  command.add_option("--preempt", options.preempt, "preempt before that step")
      ->type_name("REQUEST");
  command.add_option("--abort", options.abort, "abort before that step")->type_name("REQUEST");
  command.add_option("--budget", options.budget, "token budget of that step")
      ->check(CLI::Range(std::int32_t{1}, INT32_MAX, "a budget from 1 on"))
      ->type_name("TOKENS");
  command.add_flag("--reset", options.reset, "reset the prefix cache if no request holds blocks");
  command.add_flag("--reset-running", options.reset_running,
                   "preempt every running request, then reset the prefix cache");
  command.add_option("--policy", options.policies, "a policy from that step on")
      ->type_name("NAME=VALUE");
  command.add_option("--engine", options.engine, "profile from that step on: safe, vllm@DATE, ...")
      ->type_name("PROFILE");
  command.add_flag("--drop-script", options.drop_script,
                   "leave out the session's script from that step on");
  add_step_file_options(command, options.files);
  command.footer(
      "Examples:\n"
      "  hybridscope sessions fork run.db:before --at 12 --accept A=1 --record run.db:after\n"
      "  hybridscope sessions fork run.db:before --at 12 --engine reference\n"
      "\n"
      "Each step before STEP is compared with the session's; a step that differs is an error.\n"
      "Exit codes: 0 no findings, 1 findings, 2 usage, a name that is taken, 3 no such session,\n"
      "step or request, a session that does not reproduce, 4 environment.");
  return command;
}

Result<ForkAt> fork_of(const SessionsForkOptions& options) {
  ForkAt at{.step = options.step, .drop_script = options.drop_script};
  ScriptStep& changes = at.changes;
  if (Status read = read_counts("--accept", options.accept, 1, changes.accept); !read.ok())
    return read.error();
  if (Status read = read_counts("--drafts", options.drafts, 0, changes.drafts); !read.ok())
    return read.error();
  if (Status read = read_policies(options, changes); !read.ok()) return read.error();
  changes.preempt = options.preempt;
  changes.abort = options.abort;
  if (options.budget > 0) changes.budget = options.budget;
  if (options.reset) changes.reset_prefix_cache = PrefixCacheReset::unless_running;
  if (options.reset_running) changes.reset_prefix_cache = PrefixCacheReset::preempting_running;
  if (changes == ScriptStep{} && !options.drop_script)
    return invalid_input(
        "nothing changes: give at least one of --accept, --drafts, --preempt, "
        "--abort, --budget, --reset, --reset-running, --policy, --engine, "
        "--drop-script");
  return at;
}

int sessions_fork_command(const SessionsForkOptions& options) {
  const auto at = fork_of(options);
  if (!at.ok()) return report_usage(kFork, at.error().message);
  if (const Status apart = check_files(
          {.inputs = {session_input(options.place)}, .outputs = outputs_of(options.files)});
      !apart.ok())
    return report_usage(kFork, apart.error().message);
  const auto parent = open_recorded_plan(options.place);
  if (!parent.ok()) return report_error(kFork, parent.error());
  const auto reader = SessionReader::open(parent.value().place);
  if (!reader.ok()) return report_error(kFork, reader.error());
  auto plan = forked_plan(parent.value(), at.value(), reader.value()->last_step());
  if (!plan.ok()) return report_error(kFork, plan.error());
  const auto source = open_session_source(parent.value().place);
  if (!source.ok()) return report_error(kFork, source.error());
  for (std::size_t i = parent.value().plan.notes.size(); i < plan.value().notes.size(); ++i)
    report_note(plan.value().notes[i]);
  SessionHeader header = header_of(parent.value(), plan.value(), options.step);
  std::error_code apart;
  if (std::filesystem::equivalent(parent.value().place.file,
                                  parse_session_place(options.files.record.place).file, apart))
    header.parent = parent.value().info.session;
  auto checked = CheckedRun::create(std::move(plan).value(), {.check = header.check});
  if (!checked.ok()) return report_error(kFork, checked.error());
  ForkRun run(std::move(checked).value());
  if (Status begun = run.begin_files(options.files, header); !begun.ok())
    return report_error(kFork, begun.error(), ErrorKind::invalid_input);
  ask_for_interrupts();
  ForkGuard guard(*source.value(), options.step);
  if (Status ended = run.run(guard); !ended.ok()) return report_error(kFork, ended.error());
  print_report(run, options);
  if (was_interrupted()) return kExitInterrupted;
  return run.findings().num_found(Severity::error) > 0 ? kExitFindings : kExitFine;
}

}  // namespace hybridscope
