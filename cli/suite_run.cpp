#include "cli/suite_run.h"

#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <optional>
#include <utility>

#include "cli/interrupt.h"
#include "cli/shown_text.h"
#include "core/base/check.h"

namespace hybridscope {

SuiteRun::SuiteRun(const RunOptions& options, std::size_t num_scenarios)
    : options_(options), num_scenarios_(num_scenarios), progress_(options.quiet) {}

SuiteResult SuiteRun::broken(const SuiteEntry& entry, RunOutcome outcome,
                             const std::string& message) const {
  return {.outcome = outcome,
          .unit = broken_run(
              options_,
              {.file = entry.file, .name = entry.name, .outcome = outcome, .message = message}),
          .json = {}};
}

bool SuiteRun::stops(const CheckedRun& run) const {
  return was_interrupted() || (options_.steps > 0 && run.summary().steps >= options_.steps);
}

void SuiteRun::show_progress(const SuiteEntry& entry, const CheckedRun& run) {
  progress_.show([&] {
    return fmt::format("{} of {}: {}: step {}, {} of {} requests finished, {} findings",
                       num_started_, num_scenarios_, one_line(entry.name, 60), run.summary().steps,
                       run.summary().requests_finished, run.plan().requests.size(),
                       run.num_errors());
  });
}

SuiteResult SuiteRun::run_to_the_end(const SuiteEntry& entry) {
  RunOptions options = options_;
  options.scenario = entry.file;
  auto plan = make_run_plan(options);
  if (!plan.ok()) return broken(entry, outcome_of(plan.error()), plan.error().message);
  auto created = CheckedRun::create(std::move(plan).value(), options.check);
  if (!created.ok()) return broken(entry, outcome_of(created.error()), created.error().message);
  CheckedRun& run = *created.value();
  for (const std::string& note : run.plan().notes)
    fmt::print(stderr, "note: {}: {}\n", one_line(entry.name), note);
  std::optional<Error> refused;
  while (!refused && !run.over() && !stops(run)) {
    const auto step = run.step();
    if (!step.ok())
      refused = step.error();
    else if (listener_)
      listener_(entry, step.value(), run.names());
    show_progress(entry, run);
  }
  const bool interrupted = was_interrupted() && !run.over();
  const RunReport report = run.finish({.interrupted = interrupted,
                                       .refused = refused ? refused->message : std::string(),
                                       .timings = options.timings});
  SuiteResult result{.outcome = refused       ? outcome_of(*refused)
                                : interrupted ? RunOutcome::interrupted
                                              : outcome_of(report, options.strict),
                     .unit = {},
                     .warnings = report.findings.num_found(Severity::warning),
                     .json = {}};
  result.unit = tested_run(options, entry.file, run.plan(), report, result.outcome);
  if (refused || interrupted) break_off(result.unit, report.stopped);
  if (options.output != RunOutput::table) result.json = report_to_json(run.plan(), report);
  return result;
}

SuiteResult SuiteRun::run_guarded(const SuiteEntry& entry) {
  try {
    return run_to_the_end(entry);
  } catch (const ContractViolation& violation) {
    return broken(entry, RunOutcome::internal_error,
                  std::string("internal error: ") + violation.what() +
                      " (this is a bug of hybridscope; please report it)");
  } catch (const std::bad_alloc&) {
    return broken(entry, RunOutcome::environment,
                  "not enough memory for these sizes (num_gpu_blocks_override, max_num_seqs, "
                  "max_model_len)");
  }
}

SuiteResult SuiteRun::run(const SuiteEntry& entry) {
  ++num_started_;
  if (was_interrupted())
    return {.outcome = RunOutcome::not_run,
            .unit = skipped_run(entry.file, entry.name, "interrupted before it ran"),
            .json = {}};
  if (entry.error) return broken(entry, outcome_of(*entry.error), entry.error->message);
  SuiteResult result = run_guarded(entry);
  progress_.clear();
  return result;
}

}  // namespace hybridscope
