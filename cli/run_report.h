// What a run leaves behind, as text, JSON and JUnit.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "sessions/explain_names.h"
#include "sessions/run_plan.h"
#include "sessions/run_summary.h"

namespace hybridscope {

inline constexpr std::size_t kMaxFindingsShown = 100;  // in all
inline constexpr std::int64_t kMaxFindingsARule = 20;  // so that no rule hides another

// Every finding of one rule, kept or not.
struct RuleCount {
  std::int64_t found = 0;
  std::int64_t unexpected = 0;  // that the scenario did not say would occur
};

struct KeptFinding {
  Finding finding;
  bool expected = false;
  std::string text;
  nlohmann::ordered_json json;
};

struct RunReport {
  RunSummary summary;
  std::vector<RuleCount> rules;        // [rule_table()]
  std::vector<KeptFinding> findings;   // the first kMaxFindingsARule of each rule, as they came
  std::vector<std::string> unmet;      // expectations of the scenario that were not met
  std::string stopped;                 // why the run ended early, empty: it is complete
  std::optional<double> wall_seconds;  // absent: --no-timings
  std::optional<std::int64_t> peak_rss_bytes;

  std::int64_t num_found(Severity severity) const;
  std::int64_t num_unexpected(Severity severity) const;
  // Errors first, at most kMaxFindingsShown.
  std::vector<const KeptFinding*> shown() const;
};

// The last lines of the default output.
std::string format_summary(const RunPlan& plan, const RunReport& report);

// {config, summary, findings}.
nlohmann::ordered_json report_to_json(const RunPlan& plan, const RunReport& report);

// One testsuite, a testcase for each rule; unexpected findings are failures (warnings with
// `strict`). Errors of write_junit_file.
Status write_junit(const std::string& path, const RunPlan& plan, const RunReport& report,
                   bool strict);

}  // namespace hybridscope
