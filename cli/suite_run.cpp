#include "cli/suite_run.h"

#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "cli/interrupt.h"
#include "cli/report_error.h"
#include "sessions/job/run_files.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
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

}  // namespace

SuiteRun::SuiteRun(const RunCommandOptions& options, const Backends& backends,
                   std::size_t num_scenarios)
    : options_(options),
      backends_(backends),
      num_scenarios_(num_scenarios),
      progress_(options.quiet) {}

SuiteResult SuiteRun::broken(const SuiteEntry& entry, RunOutcome outcome,
                             const std::string& message) const {
  return {.outcome = outcome,
          .unit = broken_run(
              options_,
              {.file = entry.file, .name = entry.name, .outcome = outcome, .message = message}),
          .json = {}};
}

SuiteResult SuiteRun::unrecorded(const SuiteEntry& entry, const Error& error) const {
  const RunOutcome outcome = outcome_of(error);
  return {.outcome = outcome,
          .unit = broken_run(options_, {.file = entry.file,
                                        .name = entry.name,
                                        .outcome = outcome,
                                        .message = error.message,
                                        .by_recording = true}),
          .json = {}};
}

SuiteResult SuiteRun::refused(const SuiteEntry& entry, const RunCommandOptions& options,
                              const Error& error) const {
  const auto refusal = refusal_by_release(options, error);
  if (!refusal) return broken(entry, outcome_of(error), error.message);
  return {.outcome = RunOutcome::skipped,
          .unit = skipped_run({.file = entry.file,
                               .name = entry.name,
                               .outcome = RunOutcome::skipped,
                               .why = refusal->message}),
          .json = {}};
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
  if (was_interrupted())
    return {.outcome = RunOutcome::not_run,
            .unit = skipped_run({.file = entry.file,
                                 .name = entry.name,
                                 .outcome = RunOutcome::not_run,
                                 .why = "interrupted before it ran"}),
            .json = {}};
  if (entry.error) return broken(entry, outcome_of(*entry.error), entry.error->message);
  return run_guarded(entry);
}

}  // namespace hybridscope
