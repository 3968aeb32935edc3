// What a run leaves behind, as text, JSON and JUnit.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/finding_list.h"
#include "sessions/run_plan.h"
#include "sessions/run_summary.h"

namespace hybridscope {

struct RunReport {
  RunSummary summary;
  FindingList findings;
  std::vector<std::string> unmet;      // expectations of the scenario that were not met
  std::string stopped;                 // why the run ended early, empty: it is complete
  std::optional<double> wall_seconds;  // absent: --no-timings
  std::optional<std::int64_t> peak_rss_bytes;
};

// The last lines of the default output.
// The profile that has these policies, "mixed": none has.
std::string_view profile_name(const Policies& policies);

std::string format_summary(const RunPlan& plan, const RunReport& report);

// {config, summary, findings}.
nlohmann::ordered_json report_to_json(const RunPlan& plan, const RunReport& report);

// One testsuite, a testcase for each rule; unexpected findings are failures (warnings with
// `strict`). Errors of write_junit_file.
Status write_junit(const std::string& path, const RunPlan& plan, const RunReport& report,
                   bool strict);

}  // namespace hybridscope
