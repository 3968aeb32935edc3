// What a run leaves behind, as text, JSON and JUnit.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "sessions/explain_names.h"
#include "sessions/run_plan.h"
#include "sessions/run_summary.h"

namespace hybridscope {

inline constexpr std::size_t kMaxFindingsKept = 100;

struct RunReport {
  RunSummary summary;
  std::int64_t num_findings = 0;  // of severity error
  std::int64_t num_warnings = 0;
  std::vector<Finding> findings;           // the first kMaxFindingsKept, warnings included
  std::vector<std::string> finding_texts;  // [findings]
  std::vector<nlohmann::ordered_json> finding_objects;  // [findings]
  std::vector<std::string> unmet;      // expectations of the scenario that were not met
  bool expected_findings = false;      // every finding of severity error was expected
  bool stopped_early = false;          // --steps, no progress, or interrupted
  std::optional<double> wall_seconds;  // absent: --no-timings
  std::optional<std::int64_t> peak_rss_bytes;
};

// The last lines of the default output.
std::string format_summary(const RunPlan& plan, const RunReport& report);

// {config, summary, findings}.
nlohmann::ordered_json report_to_json(const RunPlan& plan, const RunReport& report);

// One testsuite, a testcase for each rule. Error io: the file cannot be written.
Status write_junit(const std::string& path, const RunPlan& plan, const RunReport& report,
                   bool strict);

}  // namespace hybridscope
