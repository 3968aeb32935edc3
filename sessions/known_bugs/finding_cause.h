// Which known bug, or which policy, of a run's engine a finding comes from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/check/finding.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/known_bug_table.h"

namespace hybridscope {

// Request-steps that a search may run in all; about a second of work.
inline constexpr std::int64_t kMostCauseRequestSteps = 400'000;

// Of bugs that the same policies bring back those whose files expect a finding of this rule; all if
// there are none.
std::vector<const KnownBug*> likely_bugs(std::span<const KnownBug* const> bugs, Rule rule);

// "known bug 48, skipped-step-forgets-accepted-count, or known bug 9, ...".
std::string bug_cause_words(std::span<const KnownBug* const> bugs);

struct FindingCause {
  // "known bug 48, skipped-step-forgets-accepted-count", or "policy row_order = query_len" where no
  // known bug has it; empty: none is known.
  std::string words = {};
  const KnownBug* bug = nullptr;  // the first that is named; null: none is
};

// Runs the plan again, up to the finding's step, with the policies of one known bug after the other
// as profile safe has them. The cause is the one without which the finding is gone; if there are
// several, the first that also gives it alone in profile safe, or one of two policies that needs
// both. Of bugs of the same policies the likely ones are named. Empty: there is none, or the search
// would take longer than `most_request_steps`.
FindingCause find_cause(const RunPlan& plan, const Finding& finding,
                        std::int64_t most_request_steps = kMostCauseRequestSteps);

}  // namespace hybridscope
