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

// What tells bugs of the same policies apart.
struct BugEvidence {
  const Finding& finding;
  std::int32_t num_prompt_tokens = 0;           // of the finding's request; 0: not known
  EngineProfile profile = EngineProfile::safe;  // of the engine; safe: not known
  ModelRunner runner = ModelRunner::v1;
};

// Of bugs that the same policies bring back those that the evidence fits: the engine's release or
// day has them, what only one of them shows is there, their files expect a finding of this rule.
// What none of them fits is left out of account.
std::vector<const KnownBug*> likely_bugs(std::span<const KnownBug* const> bugs,
                                         const BugEvidence& evidence);

// "known bug 48, skipped-step-forgets-accepted-count"; "known bug 18, ..., or known bug 19, ...:
// the same policy brings each of them back, and the finding fits each".
std::string bug_cause_words(std::span<const KnownBug* const> bugs);

struct FindingCause {
  // "known bug 48, skipped-step-forgets-accepted-count", or "policy row_order = query_len" where no
  // known bug has it; empty: none is known.
  std::string words = {};
  const KnownBug* bug = nullptr;  // the first that is named; null: none is
  PolicyOverrides policies = {};  // the values that bring it about
};

// Runs the plan again, up to the finding's step, with the policies of one known bug after the other
// as profile safe has them. The cause is the one without which the finding is gone; if there are
// several, the first that also gives it alone in profile safe, or one of two policies that needs
// both. Of bugs of the same policies the likely ones are named. Empty: there is none, or the search
// would take longer than `most_request_steps`.
FindingCause find_cause(const RunPlan& plan, const Finding& finding,
                        std::int64_t most_request_steps = kMostCauseRequestSteps);

}  // namespace hybridscope
