// A run of a scenario or traffic as a tested unit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cli/tested_unit.h"
#include "sessions/job/run_options.h"
#include "sessions/job/run_outcome.h"
#include "sessions/job/run_report.h"

namespace hybridscope {

// Lines of a scenario file, for reports that point into it.
class ScenarioLines {
 public:
  // An empty path, or a file that cannot be read, has no lines.
  explicit ScenarioLines(const std::string& path);

  // Where the request is declared ("id": NAME), else 1; 0 without a file.
  std::int64_t of_request(std::string_view name) const;

 private:
  std::string text_;
};

int outcome_exit_code(RunOutcome outcome);
// The outcome of an input that was refused, or could not be read to its end because of a signal.
RunOutcome outcome_of(const Error& error);

// How findings become problems.
struct ProblemWords {
  bool strict = false;                                   // warnings are errors
  std::function<std::int64_t(std::size_t kept)> line{};  // [findings.kept()]
  std::function<std::string(std::int64_t step)> command{};
};

// Adds the unexpected findings to the problems of `unit`.
void add_problems(const FindingList& findings, const ProblemWords& words, TestedUnit& unit);

// What was run: `file` is empty for traffic.
TestedUnit tested_run(const RunOptions& options, const std::string& file, const RunPlan& plan,
                      const RunReport& report, RunOutcome outcome);

struct BrokenRun {
  std::string file{};
  std::string name{};
  RunOutcome outcome = RunOutcome::invalid;
  std::string message{};
  bool by_recording = false;  // recording (--record) failed
};

// What could not be run.
TestedUnit broken_run(const RunOptions& options, const BrokenRun& broken);
// What was not run.
struct SkippedRun {
  std::string file{};
  std::string name{};
  RunOutcome outcome = RunOutcome::not_run;
  std::string why{};
};
TestedUnit skipped_run(const SkippedRun& skipped);

// Marks `unit` as cut short.
void break_off(TestedUnit& unit, const std::string& message);

}  // namespace hybridscope
