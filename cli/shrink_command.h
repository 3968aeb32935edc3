// hybridscope shrink: a smaller scenario or trace that still shows a finding.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/cli_fwd.h"
#include "core/check/step_checker.h"
#include "sessions/shrink/shrink_scenario.h"

namespace hybridscope {

// What `hybridscope shrink` reports, as text and as JSON.

// One number of the result: what it was and what it is.
struct ShrinkChange {
  std::string_view key;   // JSON
  std::string_view what;  // for people
  std::int64_t before = 0;
  std::int64_t after = 0;
};

enum class ShrinkInput : std::uint8_t { scenario, trace };

struct ShrinkReport {
  ShrinkInput input = ShrinkInput::scenario;
  Rule rule = Rule::running_state_wrong;
  std::int64_t violation_step = 0;
  std::string text;  // the finding in words
  CauseWords cause;  // of a scenario's finding
  std::vector<ShrinkChange> changes;
  std::int64_t num_runs = 0;
  std::int64_t max_runs = 0;
  ShrinkEnd end = ShrinkEnd::smallest;
  CheckScope check = CheckScope::step;
  std::string file;     // of the result, "-": standard output
  std::string content;  // of that file
};

// The finding, one line per number that is not 0 before and after, how it ended; with a file also
// the commands that reproduce the finding.
std::string format_shrink_report(const ShrinkReport& report);

// {rule, step, text, file, end, attempts, before, after, reproduce}, of a scenario also cause (or
// null) and scenario.
nlohmann::ordered_json shrink_report_to_json(const ShrinkReport& report);

// Options and examples; the function runs the command.
std::function<int()> add_shrink_command(CLI::App& shrink);

}  // namespace hybridscope
