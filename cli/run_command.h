// `hybridscope run`: steps a scenario or traffic under the checker and reports what happened; its
// options, a suite of several scenarios, and --twin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/common_options.h"
#include "cli/process.h"
#include "cli/test_reports.h"
#include "core/base/result.h"
#include "sessions/breakpoint/break_condition.h"
#include "sessions/job/backends.h"
#include "sessions/job/reported_run.h"
#include "sessions/job/run_options.h"
#include "sessions/job/shared_work.h"
#include "sessions/job/step_files.h"
#include "sessions/run/twin.h"

namespace hybridscope {

// Which scenarios `hybridscope run` is to run.
struct SuiteOptions {
  std::vector<std::string> paths;  // scenario files, and folders of them
  std::string filter;              // glob on names, empty: all
  std::optional<Shard> shard;
  std::string failed_in;  // TAP report: only scenarios that failed there; empty: all

  // True for more than one file; a folder, a filter or a shard makes even one file a suite.
  bool is_suite() const;
};

struct SuiteEntry {
  std::string file{};            // as given, or inside a folder that was given
  std::string name{};            // of the scenario; of the file where the scenario cannot be read
  std::optional<Error> error{};  // why it cannot be read
};

// Every *.json directly inside a folder in the order of their names, files as given, none twice.
// A file that is missing or cannot be read is an entry with its error.
std::vector<SuiteEntry> find_scenarios(std::span<const std::string> paths);

// Does the entry's name, or its file's name without .json, match the glob? An empty one matches.
bool matches(const SuiteEntry& entry, const std::string& filter);

struct SuiteSelection {
  std::vector<SuiteEntry> found;  // all scenarios
  std::vector<SuiteEntry> runs;   // those that match the filter and fall into the shard
  std::size_t num_matching = 0;   // those that match the filter
};

// How to choose; with `failed`, only the names in it.
struct SuiteChoice {
  std::string filter;  // glob, empty: all
  std::optional<std::vector<std::string>> failed;
  std::optional<Shard> shard;
};

SuiteSelection select_scenarios(std::vector<SuiteEntry> found, const SuiteChoice& choice);

enum class RunOutput : std::uint8_t { table, json, jsonl };

// What `hybridscope run` was asked for. With several scenarios, `scenario` is the first of them.
struct RunCommandOptions : RunOptions {
  SuiteOptions suite;        // all scenarios, and which of them
  std::int64_t explain = 0;  // step to explain in full, 0: none
  BreakOption breaks = {};
  RunOutput output = RunOutput::table;
  bool timings = true;
  bool quiet = false;
  bool table_of_traffic = false;
  bool twin = false;  // run the scenario twice and compare
  std::string junit;  // file to write, empty: none
  std::string tap;    // as well
};

void add_run_options(CLI::App& command, RunCommandOptions& options);

// What a run reads and writes.
CommandFiles files_of(const RunCommandOptions& options);

// Where the text of a run goes (text_stream).
std::FILE* text_stream_of(const RunCommandOptions& options);

// Returns the exit code.
int run_command(const RunCommandOptions& options, const Backends& backends);

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

// Runs the scenarios of a suite one by one; a scenario that fails does not end the suite.
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
  SuiteResult broken(const SuiteEntry& entry, RunOutcome outcome, const std::string& message,
                     bool by_recording = false) const;
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

// `hybridscope run` with several scenarios: each runs, even if others fail.

// Returns the exit code: the worst of all scenarios; 2 when none is selected, 130 when interrupted.
int suite_command(const RunCommandOptions& options, const Backends& backends);

// `hybridscope run --twin`: a scenario run twice, as written and with its twin's settings.

// Returns the exit code: 1 when the runs sample other tokens, accept other counts, or have
// findings.
int twin_command(const RunCommandOptions& options, const Backends& backends);

}  // namespace hybridscope
