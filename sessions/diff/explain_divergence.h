// The decisions behind a step's differences, on both sides, in the same words as all other
// explanations.
#pragma once

#include <string>
#include <vector>

#include "sessions/diff/session_diff.h"

namespace hybridscope {

// One decision as both sides made it.
struct DecisionPair {
  std::string request;  // empty: the whole step
  std::string subject;  // "schedule", "prefix cache lookup", "post-copy", "graph dispatch", ...
  std::string source;   // the reference function that has the rule
  std::string a;        // several lines when a lookup has several groups
  std::string b;
  // Where a and b read alike: the fields in which the decision differs all the same,
  // "scheduled.num_output_placeholders: A 1, B 3; ...".
  std::string differs = {};
};

// In the order in which a step decides; requests in the order in which they differ. Requires: both
// sides have the step.
std::vector<DecisionPair> explain_divergence(const StepDifference& difference, const StepSource& a,
                                             const StepSource& b, const RequestNumbers& names);

inline constexpr std::size_t kMaxExplainedFindings = 20;

// The findings of the step that only side `side` (0: a) has. The first ones are explained; a last
// line counts the others: "and 5 more".
std::vector<std::string> findings_of_one_side(const StepDifference& difference,
                                              const StepSource& source, int side);

}  // namespace hybridscope
