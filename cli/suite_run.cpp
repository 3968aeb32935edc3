#include "cli/run_command.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "cli/process.h"
#include "sessions/job/reported_run.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxProblemsShown = 5;  // of one scenario

std::array<std::int64_t, static_cast<std::size_t>(RunOutcome::not_run) + 1> count_outcomes(
    const SuiteReport& report) {
  std::array<std::int64_t, static_cast<std::size_t>(RunOutcome::not_run) + 1> counts{};
  for (const SuiteResult& result : report.results)
    ++counts[static_cast<std::size_t>(result.outcome)];
  return counts;
}

struct Sums {
  std::int64_t steps = 0;
  std::int64_t findings = 0;
  std::int64_t warnings = 0;
};

Sums sums_of(const SuiteReport& report) {
  Sums sums;
  for (const SuiteResult& result : report.results) {
    sums.steps += result.unit.steps;
    sums.findings += result.unit.findings;
    sums.warnings += result.warnings;
  }
  return sums;
}

std::string scenarios_counted(std::size_t count) {
  return counted(static_cast<std::int64_t>(count), "scenario");
}

std::string format_problems(const TestedUnit& unit) {
  std::string text;
  std::size_t shown = 0;
  const Problem* first = nullptr;
  std::int64_t more = 0;
  for (const Problem& problem : unit.problems) {
    if (problem.severity != Severity::error) continue;
    if (first == nullptr) first = &problem;
    if (shown == kMaxProblemsShown) {
      ++more;
      continue;
    }
    ++shown;
    text += "    " + problem.text + "\n";
  }
  for (const ProblemsLeftOut& left_out : unit.left_out)
    if (left_out.severity == Severity::error) more += left_out.count;
  if (more > 0) text += fmt::format("    and {} more\n", grouped_number(more));
  if (first == nullptr) return text;
  return text + "    reproduce: " + (first->command.empty() ? unit.command : first->command) + "\n";
}

// Why it was skipped, and which findings do not fail.
std::string format_notes(const SuiteResult& result) {
  std::string text;
  for (const ExcusedFindings& excused : result.excused)
    text += fmt::format("    {}\n", excused_words(excused));
  if (!result.unit.skipped.empty())
    text += fmt::format("    {}\n", one_line(result.unit.skipped, 1000));
  return text;
}

}  // namespace

// Higher codes are worse: the graver the cause, the less the other results mean. 130 outranks all,
// because scenarios are missing then.
int SuiteReport::exit_code() const {
  int worst = kExitFine;
  for (const SuiteResult& result : results)
    worst = std::max(worst, outcome_exit_code(result.outcome));
  return worst;
}

std::string format_suite_heading(const SuiteReport& report, std::size_t num_runs) {
  std::string text = scenarios_counted(report.num_found);
  if (!report.filter.empty())
    text += fmt::format(", {} match \"{}\"", report.num_matching, one_line(report.filter));
  if (report.shard)
    text += fmt::format(", shard {} has {} of them", shard_text(*report.shard), num_runs);
  return text + "\n";
}

std::string format_suite_columns(bool timings) {
  return fmt::format("{:<14}  {:>9}  {:>8}  {}{}\n", "result", "steps", "findings",
                     timings ? "seconds  " : "", "scenario");
}

std::string format_suite_line(const SuiteResult& result, bool timings) {
  const TestedUnit& unit = result.unit;
  const bool ran = result.json.is_object() || unit.steps > 0;
  const std::string seconds = unit.seconds ? fmt::format("{:.2f}", *unit.seconds) : "-";
  return fmt::format("{:<14}  {:>9}  {:>8}  {}{}\n", outcome_name(result.outcome),
                     ran ? grouped_number(unit.steps) : "-",
                     ran ? grouped_number(unit.findings) : "-",
                     timings ? fmt::format("{:>7}  ", seconds) : "", one_line(unit.name)) +
         format_notes(result) + format_problems(unit);
}

std::string format_suite_summary(const SuiteReport& report) {
  if (report.results.empty())
    return fmt::format("shard {} is empty: none of {} falls into it\n",
                       shard_text(report.shard.value_or(Shard{})),
                       scenarios_counted(report.num_matching));
  const auto counts = count_outcomes(report);
  std::string text = scenarios_counted(report.results.size()) + ":";
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      text += fmt::format("{} {} {}", text.ends_with(':') ? "" : ",", grouped_number(counts[i]),
                          outcome_name(static_cast<RunOutcome>(i)));
  const Sums sums = sums_of(report);
  text += fmt::format("; {}, {}, {}", counted(sums.steps, "step"),
                      counted(sums.findings, "finding"), counted(sums.warnings, "warning"));
  if (report.wall_seconds) text += fmt::format(" in {:.2f} s", *report.wall_seconds);
  return text + "\n";
}

nlohmann::ordered_json suite_result_to_json(const SuiteResult& result) {
  nlohmann::ordered_json json = {{"scenario", result.unit.name},
                                 {"file", result.unit.file},
                                 {"result", outcome_name(result.outcome)},
                                 {"exit_code", outcome_exit_code(result.outcome)}};
  if (!result.unit.broken.empty()) json["error"] = result.unit.broken;
  if (!result.unit.skipped.empty())
    json[result.outcome == RunOutcome::skipped ? "skipped" : "not_run"] = result.unit.skipped;
  if (result.json.is_object()) json.update(result.json);
  return json;
}

nlohmann::ordered_json suite_to_json(const SuiteReport& report) {
  nlohmann::ordered_json config = {{"paths", report.paths}};
  if (!report.filter.empty()) config["filter"] = report.filter;
  if (report.shard) config["shard"] = shard_text(*report.shard);
  const auto counts = count_outcomes(report);
  nlohmann::ordered_json by_result = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) by_result[std::string(outcome_name(static_cast<RunOutcome>(i)))] = counts[i];
  const Sums sums = sums_of(report);
  nlohmann::ordered_json summary = {{"found", report.num_found},
                                    {"matching", report.num_matching},
                                    {"scenarios", report.results.size()},
                                    {"results", by_result},
                                    {"steps", sums.steps},
                                    {"findings", sums.findings},
                                    {"warnings", sums.warnings},
                                    {"exit_code", report.exit_code()}};
  if (report.wall_seconds) summary["wall_seconds"] = *report.wall_seconds;
  nlohmann::ordered_json scenarios = nlohmann::ordered_json::array();
  for (const SuiteResult& result : report.results)
    scenarios.push_back(suite_result_to_json(result));
  return {{"config", config}, {"summary", summary}, {"scenarios", scenarios}};
}

namespace {

// Why the release of --engine alone refuses a scenario that can be run as it is written; empty: it
// does not, so that `error` comes from other options or from the scenario.
std::optional<Error> refusal_by_release(const RunCommandOptions& options, const Error& error) {
  const SettingsOptions engine = options.settings.only("engine");
  const auto given = engine.apply({});
  if (error.kind != ErrorKind::invalid_input || !given.ok() || !release_of(given.value()))
    return std::nullopt;
  RunCommandOptions alone = options;
  alone.model.clear();
  alone.settings = {};
  if (!make_run_plan(alone).ok()) return std::nullopt;
  alone.settings = engine;
  const auto plan = make_run_plan(alone);
  return plan.ok() ? std::nullopt : std::optional(plan.error());
}

SuiteResult not_tried(const SuiteEntry& entry, RunOutcome outcome, const std::string& why) {
  return {.outcome = outcome,
          .unit = {.name = entry.name,
                   .file = entry.file,
                   .result = std::string(outcome_name(outcome)),
                   .skipped = why},
          .json = {}};
}

}  // namespace

SuiteRun::SuiteRun(const RunCommandOptions& options, const Backends& backends,
                   std::size_t num_scenarios)
    : options_(options),
      backends_(backends),
      num_scenarios_(num_scenarios),
      progress_(options.quiet) {}

SuiteResult SuiteRun::broken(const SuiteEntry& entry, RunOutcome outcome,
                             const std::string& message, bool by_recording) const {
  return {.outcome = outcome,
          .unit = broken_run(options_, {.file = entry.file,
                                        .name = entry.name,
                                        .outcome = outcome,
                                        .message = message,
                                        .by_recording = by_recording}),
          .json = {}};
}

SuiteResult SuiteRun::unrecorded(const SuiteEntry& entry, const Error& error) const {
  return broken(entry, outcome_of(error), error.message, true);
}

SuiteResult SuiteRun::refused(const SuiteEntry& entry, const RunCommandOptions& options,
                              const Error& error) const {
  const auto refusal = refusal_by_release(options, error);
  return refusal ? not_tried(entry, RunOutcome::skipped, refusal->message)
                 : broken(entry, outcome_of(error), error.message);
}

void SuiteRun::show_progress(const SuiteEntry& entry, const ReportedRun& run) {
  progress_.show([&] {
    return fmt::format("{} of {}: {}: {}", num_started_, num_scenarios_, one_line(entry.name, 60),
                       run.progress_words());
  });
}

Status SuiteRun::step_to_the_end(const SuiteEntry& entry, ReportedRun& run, StepFiles& files) {
  SinkOf told([&](const CheckedStep& step) {
    if (listener_) listener_(entry, step, run.names());
  });
  SinkOf progress([&](const CheckedStep&) { show_progress(entry, run); });
  StepSink* const sinks[] = {&told, &files, &progress};
  const auto driven = run.drive(sinks, was_interrupted);
  return driven.ok() ? Ok{} : Status(driven.error());
}

SuiteResult SuiteRun::run_to_the_end(const SuiteEntry& entry) {
  RunCommandOptions options = options_;
  options.scenario = entry.file;
  auto plan = make_run_plan(options);
  if (!plan.ok()) return refused(entry, options, plan.error());
  auto created = ReportedRun::create(std::move(plan).value(), options, backends_);
  if (!created.ok()) return broken(entry, outcome_of(created.error()), created.error().message);
  ReportedRun& run = *created.value();
  if (!options.quiet)
    for (const std::string& note : run.plan().notes)
      report_note(fmt::format("{}: {}", entry.name, note));
  auto files = begin_run_files(options, run);  // a session is named after its scenario's file
  if (!files.ok()) return unrecorded(entry, files.error());
  Status went = step_to_the_end(entry, run, files.value());
  if (went.ok()) went = run.digest_state();
  progress_.clear();
  const bool interrupted = was_interrupted() && !run.has_ended();
  const EarlyEnd end{.interrupted = interrupted,
                     .refused = went.ok() ? std::string() : went.error().message,
                     .timings = options.timings};
  if (Status kept = files.value().finish(steps_end(run, end)); !kept.ok())
    return unrecorded(entry, kept.error());
  const RunReport report = run.finish(end);
  SuiteResult result{.outcome = !went.ok()    ? outcome_of(went.error())
                                : interrupted ? RunOutcome::interrupted
                                              : outcome_of(report, options.strict),
                     .unit = {},
                     .ended = went.ok() && run.has_ended(),
                     .warnings = report.findings.num_found(Severity::warning),
                     .excused = report.excused,
                     .json = {}};
  result.unit = tested_run(options, entry.file, run.plan(), report, result.outcome);
  if (!went.ok() || interrupted) break_off(result.unit, report.stopped);
  if (options.output != RunOutput::table) result.json = report_to_json(run.plan(), report);
  return result;
}

SuiteResult SuiteRun::run_guarded(const SuiteEntry& entry) {
  try {
    return run_to_the_end(entry);
  } catch (const std::bad_alloc&) {
    return broken(entry, RunOutcome::environment,
                  "not enough memory for these sizes (num_gpu_blocks_override, max_num_seqs, "
                  "max_model_len)");
  } catch (const std::system_error& error) {
    return broken(entry, RunOutcome::environment, error.what());
  } catch (const std::exception& fault) {
    return broken(entry, RunOutcome::internal_error,
                  std::string("internal error: ") + fault.what() +
                      " (this is a bug of hybridscope; please report it)");
  }
}

SuiteResult SuiteRun::run(const SuiteEntry& entry) {
  ++num_started_;
  if (was_interrupted()) return not_tried(entry, RunOutcome::not_run, "interrupted before it ran");
  if (entry.error) return broken(entry, outcome_of(*entry.error), entry.error->message);
  return run_guarded(entry);
}

}  // namespace hybridscope
