// A comparison as reports show it: the first differing steps with their fields, the decisions
// behind the first one, and totals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/diff/session_diff.h"

namespace hybridscope {

// The decisions behind a step's differences, on both sides, in the same words as all other
// explanations.

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

struct CollectedField {
  std::string request;  // empty: the step as a whole
  DiffSection section = DiffSection::schedule;
  std::string field;  // "rows.num_sampled_tokens"
  std::string place;  // place_text
  DiffValue a;        // its words live as long as the SessionDiff and its sources
  DiffValue b;
  // `field` and `place` as values, for lookups.
  DiffList list = DiffList::step;
  std::int32_t group = -1;
  std::int32_t column = -1;
  std::int32_t index = -1;  // arrays: the first element that differs
  std::string_view part{};  // "pre_copies", or the name of an array
};

struct CollectedStep {
  std::int64_t step = 0;
  std::int64_t last_step = 0;  // tails only
  std::int64_t num_steps = 1;
  StepPresence presence = StepPresence::both;
  bool tail = false;
  std::int64_t num_fields = 0;
  std::vector<CollectedField> fields;  // the first kMaxCollectedFields
};

inline constexpr std::size_t kMaxCollectedFields = 1000;
inline constexpr std::size_t kMaxCollectedDecisions = 20;

struct CollectedDiff {
  std::vector<CollectedStep> steps;  // the first ones
  // The decisions behind the first step's differences.
  std::vector<DecisionPair> decisions;
  std::int64_t num_decisions = 0;
  std::vector<std::string> findings_a;  // findings that only one side has
  std::vector<std::string> findings_b;
  bool complete = true;  // false: stopped at the first divergence
};

struct CollectOptions {
  std::size_t limit = 100;  // number of steps to keep
  bool first_only = false;  // stop at the first divergence
};

// One step of a diff; decisions come before their consequences.
CollectedStep collect_step(const StepDifference& difference, const RequestNumbers& names);

// Reads `diff` to its end.
Result<CollectedDiff> collect_diff(SessionDiff& diff, const StepSource& a, const StepSource& b,
                                   const CollectOptions& options);

}  // namespace hybridscope
