// Runs the scenarios of a suite one by one; a scenario that fails does not end the suite.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "cli/progress.h"
#include "cli/run_options.h"
#include "cli/suite_report.h"
#include "cli/suite_selection.h"
#include "sessions/job/reported_run.h"
#include "sessions/job/step_files.h"

namespace hybridscope {

class SuiteRun {
 public:
  // Called after each step of each scenario; the arguments are valid until the next step.
  using OnStep = std::function<void(const SuiteEntry&, const CheckedStep&, const Names&)>;

  // `options` and `backends` must outlive this object.
  SuiteRun(const RunCommandOptions& options, const Backends& backends, std::size_t num_scenarios);

  void on_step(OnStep listener) { listener_ = std::move(listener); }

  // After an interrupt scenarios are skipped.
  SuiteResult run(const SuiteEntry& entry);

 private:
  SuiteResult run_guarded(const SuiteEntry& entry);
  SuiteResult run_to_the_end(const SuiteEntry& entry);
  Status step_to_the_end(const SuiteEntry& entry, ReportedRun& run, StepFiles& files);
  SuiteResult broken(const SuiteEntry& entry, RunOutcome outcome, const std::string& message) const;
  // It cannot be planned.
  SuiteResult refused(const SuiteEntry& entry, const RunCommandOptions& options,
                      const Error& error) const;
  SuiteResult unrecorded(const SuiteEntry& entry, const Error& error) const;
  void show_progress(const SuiteEntry& entry, const ReportedRun& run);

  const RunCommandOptions& options_;
  const Backends& backends_;
  std::size_t num_scenarios_;
  std::size_t num_started_ = 0;
  OnStep listener_;
  Progress progress_;
};

}  // namespace hybridscope
