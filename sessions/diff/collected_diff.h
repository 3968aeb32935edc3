// A comparison as reports show it: the first steps that differ with their fields, the decisions
// behind the first one, and what all of them add up to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/diff/explain_divergence.h"
#include "sessions/diff/session_diff.h"

namespace hybridscope {

struct CollectedField {
  std::string request;  // empty: of the step
  DiffSection section = DiffSection::schedule;
  std::string field;  // "rows.num_sampled_tokens"
  std::string place;  // "post_copies, group 1, column 2"; empty where it needs no telling
  DiffValue a;        // words live as long as the SessionDiff and its sources
  DiffValue b;
  // What `field` and `place` say, for who looks it up.
  DiffList list = DiffList::step;
  std::int32_t group = -1;
  std::int32_t column = -1;
  std::int32_t index = -1;  // of an array's first element that differs
  std::string_view part{};  // "pre_copies", the name of an array
};

struct CollectedStep {
  std::int64_t step = 0;
  std::int64_t last_step = 0;  // of a tail
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
  // Of the first step.
  std::vector<DecisionPair> decisions;
  std::int64_t num_decisions = 0;
  std::vector<std::string> findings_a;  // that only one side has
  std::vector<std::string> findings_b;
  bool complete = true;  // false: stopped at the first divergence
};

struct CollectOptions {
  std::size_t limit = 100;  // steps to keep
  bool first_only = false;  // stop there
};

// One step of a diff, its decisions before what follows from them.
CollectedStep collect_step(const StepDifference& difference, const RequestNumbers& names);

// Reads `diff` to its end.
Result<CollectedDiff> collect_diff(SessionDiff& diff, const StepSource& a, const StepSource& b,
                                   const CollectOptions& options);

}  // namespace hybridscope
