// What a suite prints: one line per scenario, the totals, and the same as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/run_tests.h"
#include "cli/tested_unit.h"
#include "sessions/job/known_findings_option.h"
#include "sessions/job/shard.h"

namespace hybridscope {

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

}  // namespace hybridscope
