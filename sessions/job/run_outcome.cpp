#include "sessions/job/run_outcome.h"

#include <array>
#include <cstddef>

namespace hybridscope {
namespace {

// In the order of the enum.
constexpr std::array<std::string_view, 10> kNames = {
    "ok",      "skipped",     "stopped",        "unmet",       "findings",
    "invalid", "environment", "internal error", "interrupted", "not run"};
static_assert(kNames.size() == static_cast<std::size_t>(RunOutcome::not_run) + 1);

}  // namespace

std::string_view outcome_name(RunOutcome outcome) {
  return kNames[static_cast<std::size_t>(outcome)];
}

RunOutcome outcome_of(const RunReport& report, bool strict) {
  if (report.findings.num_unexpected(Severity::error) > 0 ||
      (strict && report.findings.num_unexpected(Severity::warning) > 0))
    return RunOutcome::findings;
  if (!report.unmet.empty()) return RunOutcome::unmet;
  return report.stopped.empty() ? RunOutcome::fine : RunOutcome::stopped;
}

}  // namespace hybridscope
