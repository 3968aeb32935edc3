// Which of several known bugs that the same policies bring back a finding comes from, and the words
// for it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/check/finding.h"
#include "sessions/scenario/known_bug_table.h"

namespace hybridscope {

// What tells bugs of the same policies apart.
struct BugEvidence {
  const Finding& finding;
  std::int32_t num_prompt_tokens = 0;           // of the finding's request; 0: not known
  EngineProfile profile = EngineProfile::safe;  // of the engine; safe: not known
  ModelRunner runner = ModelRunner::v1;
};

// The bugs that the evidence fits, among bugs that the same policies bring back: the engine's
// release or day has them, what only one of them shows is there, their files expect a finding of
// this rule. Evidence that fits none of them is left out of account.
std::vector<const KnownBug*> likely_bugs(std::span<const KnownBug* const> bugs,
                                         const BugEvidence& evidence);

// "known bug 48, skipped-step-forgets-accepted-count"; "known bug 18, ..., or known bug 19, ...:
// the same policy brings each of them back, and the finding fits each".
std::string bug_cause_words(std::span<const KnownBug* const> bugs);

}  // namespace hybridscope
