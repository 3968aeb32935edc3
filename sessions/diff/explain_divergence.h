// The decisions behind a step's differences, on both sides, in the words that explain them
// everywhere else.
#pragma once

#include <string>
#include <vector>

#include "sessions/diff/session_diff.h"

namespace hybridscope {

// One decision as both sides made it.
struct DecisionPair {
  std::string request;  // empty: of the whole step
  std::string subject;  // "schedule", "prefix cache lookup", "post-copy", "graph dispatch", ...
  std::string source;   // the rule's reference function
  std::string a;        // words; several lines where a lookup has several groups
  std::string b;
};

// In the order in which a step decides, requests in the order in which they differ. For a step that
// both sides have.
std::vector<DecisionPair> explain_divergence(const StepDifference& difference, const StepSource& a,
                                             const StepSource& b, const RequestNumbers& names);

inline constexpr std::size_t kMaxExplainedFindings = 20;

// Findings of the step that only side `side` (0: a) has, the first ones explained; a last line
// counts the others: "and 5 more".
std::vector<std::string> findings_of_one_side(const StepDifference& difference,
                                              const StepSource& source, int side);

}  // namespace hybridscope
