// How a run ended, in one word.
#pragma once

#include <cstdint>
#include <string_view>

#include "sessions/job/run_report.h"

namespace hybridscope {

// The worst last.
enum class RunOutcome : std::uint8_t {
  fine,
  skipped,  // the release of --engine refuses it
  stopped,  // after --steps, as asked
  unmet,    // expectations
  findings,
  invalid,  // input
  environment,
  internal_error,
  interrupted,
  not_run,
};

// "ok", "findings", ...
std::string_view outcome_name(RunOutcome outcome);
// Of a run that went to its end or was stopped. `strict`: warnings count as findings.
RunOutcome outcome_of(const RunReport& report, bool strict);

}  // namespace hybridscope
