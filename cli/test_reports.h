// Runs of scenarios and traces as tested units (run_tests.cpp), and their results for programs that
// read them: JUnit and TAP (test_reports.cpp), GitHub's annotations and summary
// (publish_tests.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/process.h"
#include "core/base/result.h"
#include "core/check/finding.h"
#include "sessions/job/reported_run.h"
#include "sessions/job/run_options.h"

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
      case Evidence::decisions: return true;
      case Evidence::bytes: return in_bytes;
      case Evidence::memory: return in_memory;
      case Evidence::numbers: return in_numbers;
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
// Marks `unit` as cut short.
void break_off(TestedUnit& unit, const std::string& message);

// The findings of a run against its baseline file (--baseline and --write-baseline).

// What is in the baseline and did not occur in these runs, as a note on stderr.
void note_unseen(const KnownFindingsOption& option, const std::vector<std::string>& complete_runs);

// Writes what was collected, unless not everything ran to its end (`incomplete` says why; empty: it
// did) or the file would have too many steps to be read again. Returns kExitFine, kExitEnvironment
// when the file cannot be written, or kExitUsage when it is left as it was, and says so.
int write_baseline(const KnownFindingsOption& option, const std::string& incomplete);

// A JUnit report as continuous integration reads it: testsuites of named testcases.

enum class JunitProblem : std::uint8_t { failure, error, skipped };

struct JunitCase {
  std::string name{};
  std::string type{};                   // of the failure
  std::vector<std::string> failures{};  // lines, the first is the message; empty: passed
  JunitProblem problem = JunitProblem::failure;
  std::string file{};     // where the cause is; in no schema, read by those that annotate
  std::int64_t line = 0;  // 0: none
};

struct JunitSuite {
  std::string name{};
  std::string file{};
  std::optional<double> seconds{};
  std::vector<Property> properties{};
  std::vector<JunitCase> cases{};
};

// A scenario or trace as a suite: one testcase per rule, one more for each other type of problem; a
// unit that did not run has the one testcase "run". Errors fail the testcase of their type,
// warnings do not.
JunitSuite junit_suite(const TestedUnit& unit);

// The whole report. Each testcase has its suite's name as its class; bytes that XML cannot hold
// become U+FFFD.
std::string junit_text(std::span<const JunitSuite> suites);

// Writes a report of one suite as write_output_file() writes.
Status write_junit_file(const std::string& path, std::string_view suite,
                        const std::vector<JunitCase>& cases);

// Scenarios and traces in the Test Anything Protocol, version 14: a test point each.

// A suite is "not ok" when one of its testcases failed, with a block that says which and why; "ok"
// with "# SKIP" when it was not tried.
std::string tap_text(std::span<const JunitSuite> suites);

// The names behind "not ok" in a report that tap_text() made. Error: the file cannot be read
// (not_found) or is not such a report (invalid_input).
Result<std::vector<std::string>> failed_in_tap(const std::string& path);

// Where results go beside the output: the JUnit and TAP files, and under GitHub Actions its
// annotations and the step's summary.

// Annotations of GitHub Actions: lines that the runner takes from the output of a step and shows
// beside the code ("Workflow commands for GitHub Actions").

// GitHub shows 10 of each kind per step and silently drops the rest.
inline constexpr std::int64_t kMaxAnnotations = 9;  // of each severity

// What follows "::": %, CR and LF are written as %25, %0D and %0A.
std::string annotation_data(std::string_view text);
// A value between commas: : and , too, as %3A and %2C.
std::string annotation_property(std::string_view text);

// The first kMaxAnnotations errors and as many warnings of all units, a line each, in order; then,
// if there are more, a notice that says how many.
std::string annotations_text(std::span<const TestedUnit> units);

// The Markdown page that GitHub Actions shows for a step ($GITHUB_STEP_SUMMARY).

// GitHub refuses a longer page as a whole.
inline constexpr std::size_t kMaxStepSummaryBytes = 1 << 20;

// A heading and a table with one row per unit, those with problems first; at most `max_bytes`, with
// a last line that says how many rows were cut. Empty when not even that fits.
std::string step_summary_text(std::string_view title, std::span<const TestedUnit> units,
                              std::size_t max_bytes);

// Appends it to the file; what other commands of the step wrote counts for the limit. Error io.
Status append_step_summary(const std::string& path, std::string_view title,
                           std::span<const TestedUnit> units);

struct PublishOptions {
  std::string_view command{};  // "run": for messages and headings
  std::string junit{};         // file to write, empty: none
  std::string tap{};           // as well
  CiEnvironment environment{};
};

// Options of a command that writes to these files, and the environment of this process.
template <class Options>
PublishOptions publish_options(std::string_view command, const Options& options) {
  return {.command = command,
          .junit = options.junit,
          .tap = options.tap,
          .environment = read_ci_environment(environment_variable)};
}

// Annotations go to stderr, which GitHub reads as it reads stdout: `--json` stays one document.
// Returns kExitFine, or kExitEnvironment when a report could not be written, and says why; a
// summary that cannot be written is only reported.
int publish_tests(std::span<const TestedUnit> units, const PublishOptions& options);

}  // namespace hybridscope
