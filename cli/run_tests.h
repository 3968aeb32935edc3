// A run of a scenario or traffic as a tested unit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/finding.h"
#include "sessions/job/run_options.h"
#include "sessions/job/run_report.h"

namespace hybridscope {

// Command lines that a reader of a report can paste into a shell.

// "hybridscope run scenarios/NAME.json --mamba-cache-mode align --explain 4": what runs the
// scenario alone (the traffic, when `file` is empty) with the settings of `options`; step 0: no
// --explain.
std::string run_words(const RunOptions& options, std::string_view file, std::int64_t explain = 0);

// A scenario or a trace in reports for continuous integration: JUnit, annotations and the step
// summary are made from this value.

// What failed, or would under --strict.
struct Problem {
  Severity severity = Severity::error;
  std::string type{};     // slug of a rule, "expect", "difference" or "run"
  std::string text{};     // without newline
  std::int64_t line = 0;  // in the unit's file, 0: none
  std::string command{};  // shows it, empty: the unit's own command
};

// Problems of one type beyond those kept.
struct ProblemsLeftOut {
  Severity severity = Severity::error;
  std::string type{};
  std::int64_t count = 0;
};

struct Property {
  std::string name{};
  std::string value{};
};

struct TestedUnit {
  std::string name{};
  std::string file{};    // as given, empty: none
  std::string result{};  // "ok", "findings", ...
  std::int64_t steps = 0;
  std::int64_t findings = 0;           // of severity error, expected ones too
  bool in_bytes = false;               // was state in bytes checked, too?
  bool in_memory = false;              // did the trace tell hashes of the engine's memory?
  bool in_numbers = false;             // did a language model run on the decisions?
  std::optional<double> seconds{};     // absent: --no-timings, or it did not run
  std::vector<Property> properties{};  // enough to run the same again
  std::string command{};               // runs it alone
  std::vector<Problem> problems{};
  std::vector<ProblemsLeftOut> left_out{};
  std::string broken{};   // why it did not run or was cut short; empty: it ran to its end
  std::string skipped{};  // why it was not tried; empty: it was

  // Did the unit have what rules with this evidence look at?
  bool looked_at(Evidence evidence) const {
    switch (evidence) {
      case Evidence::decisions:
        return true;
      case Evidence::bytes:
        return in_bytes;
      case Evidence::memory:
        return in_memory;
      case Evidence::numbers:
        return in_numbers;
    }
    return false;
  }
};

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

// The findings of a run against its baseline file (--baseline and --write-baseline).

// What is in the baseline and did not occur in these runs, as a note on stderr.
void note_unseen(const KnownFindingsOption& option, const std::vector<std::string>& complete_runs);

// Writes what was collected, unless not everything ran to its end (`incomplete` says why; empty: it
// did) or the file would have too many steps to be read again. Returns kExitFine, kExitEnvironment
// when the file cannot be written, or kExitUsage when it is left as it was, and says so.
int write_baseline(const KnownFindingsOption& option, const std::string& incomplete);

}  // namespace hybridscope
