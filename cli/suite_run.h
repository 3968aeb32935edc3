// Runs the scenarios of a suite one by one; a scenario that fails does not end the suite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/progress.h"
#include "cli/run_options.h"
#include "cli/run_tests.h"
#include "sessions/job/reported_run.h"
#include "sessions/job/run_options.h"
#include "sessions/job/shared_work.h"
#include "sessions/job/step_files.h"

namespace hybridscope {

// What a suite prints: one line per scenario, the totals, and the same as JSON.

// One scenario of the suite.
struct SuiteResult {
  RunOutcome outcome = RunOutcome::fine;
  TestedUnit unit{};
  bool ended = false;  // it ran to its end
  std::int64_t warnings = 0;
  std::vector<ExcusedFindings> excused{};
  nlohmann::ordered_json json{};  // what a single run prints, null when it did not start
};

struct SuiteReport {
  std::vector<std::string> paths{};  // as given
  std::string filter{};              // as given
  std::optional<Shard> shard{};
  std::size_t num_found = 0;     // scenarios there are
  std::size_t num_matching = 0;  // that the filter leaves
  std::vector<SuiteResult> results{};
  std::optional<double> wall_seconds{};  // absent: --no-timings

  // The worst exit code of all; 130 when the suite was interrupted.
  int exit_code() const;
};

// "29 scenarios, shard 2/7 has 4 of them": how many there are and how many run.
std::string format_suite_heading(const SuiteReport& report, std::size_t num_runs);
// Heads the lines of format_suite_line.
std::string format_suite_columns(bool timings);
// One line, and below it the first problems with a command that shows them.
std::string format_suite_line(const SuiteResult& result, bool timings);
// The last line.
std::string format_suite_summary(const SuiteReport& report);

// {scenario, file, result, exit_code, ...} with what a run of one scenario prints.
nlohmann::ordered_json suite_result_to_json(const SuiteResult& result);
// {config, summary, scenarios}.
nlohmann::ordered_json suite_to_json(const SuiteReport& report);

// The text of a JSON value; file names may not be UTF-8.
std::string json_line(const nlohmann::ordered_json& json, int indent = -1);

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
