// The result of a run, as text and JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/job/run_options.h"
#include "sessions/job/state_option.h"
#include "sessions/run/finding_list.h"
#include "sessions/run/run_plan.h"
#include "sessions/run/run_summary.h"
#include "sessions/run/spoken_words.h"
#include "sessions/run/starved_requests.h"

namespace hybridscope {

struct RunReport {
  RunSummary summary;
  FindingList findings;
  std::optional<StateInBytes> state;          // absent: symbolic only
  std::optional<SpeechInfo> language;         // absent: no language model ran
  std::optional<SpokenWords> texts;           // absent: no language model ran
  std::vector<std::string> unmet;             // expectations of the scenario that were not met
  std::vector<ExcusedFindings> excused = {};  // known bugs first, then the baseline
  std::optional<Starvation> starvation;       // absent: nobody starved
  std::string stopped;                        // why the run ended early, empty: it is complete
  std::optional<double> wall_seconds;         // absent: --no-timings
  std::optional<std::int64_t> peak_rss_bytes;
};

// The last lines of the default output.
std::string format_summary(const RunPlan& plan, const RunReport& report);

// {config, state, summary, roots, findings}.
nlohmann::ordered_json report_to_json(const RunPlan& plan, const RunReport& report);

// How a run ended, in one word.

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
// The outcome of a run that went to its end or was stopped. `strict`: warnings count as findings.
RunOutcome outcome_of(const RunReport& report, bool strict);

}  // namespace hybridscope
