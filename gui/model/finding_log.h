// The findings of a run's known steps: the first of each rule are listed, chains are followed over
// all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/check/finding.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/finding_roots.h"

namespace hybridscope {

// A finding of the run and its text.
struct ShownFinding {
  Finding finding;
  std::string text;
  // What went wrong first (root_decision), of the first finding of a chain; empty: the finding says
  // it, or it is not known, or not yet.
  std::string decision = {};
};

// Where a listed finding stands.
struct FindingChain {
  std::ptrdiff_t first = -1;       // index of the first finding of its chain in the list; -1: it is
                                   // not listed, or the finding is a warning, which has no chain
  std::int64_t first_step = 0;     // its step; 0: a warning
  std::int64_t num_following = 0;  // the findings behind the first, up to the last known step
  std::int64_t num_listed = 0;     // of these
  bool at_least = false;           // more findings of a rule were found than are followed
};

class FindingLog {
 public:
  // Findings of each rule that are followed, the first ones: a rule may break in every step.
  static constexpr std::size_t kMostARule = 5000;

  FindingLog();
  // Call in order of steps.
  void take(const Finding& finding, const Names& names);
  void forget_after(std::int64_t step);

  std::span<const ShownFinding> listed() const { return listed_; }
  void set_decision(std::size_t index, std::string decision) {
    listed_[index].decision = std::move(decision);
  }
  // [listed()]
  std::vector<FindingChain> chains() const;

 private:
  static constexpr std::size_t kNoRoot = static_cast<std::size_t>(-1);
  struct Place {
    std::size_t root = kNoRoot;  // kNoRoot: a warning
    bool is_root = false;
    bool is_listed = false;
  };
  Place follow(const Finding& finding);

  std::vector<Finding> followed_;
  FindingRoots roots_;
  std::vector<ShownFinding> listed_;
  std::vector<Place> places_;           // [listed()]
  std::vector<std::size_t> num_found_;  // [rule_table()]
};

// What findings said about the content of blocks. After a finding's step its block stays wrong as
// long as it holds what the finding saw: until it is written or allocated again.

// The last writes to a block, by content; kind never: nothing was written since its allocation.
struct BlockWrites {
  WriteEvent temporal;
  WriteEvent conv;
  WriteEvent attention;

  const WriteEvent& of(ContentKind content) const;
};

struct BlockFault {
  std::int64_t step = 0;
  Rule rule = Rule::running_state_wrong;
  ContentKind content = ContentKind::none;
  WriteEvent cause;  // kind never: any write up to the step
};

class BlockFaults {
 public:
  // Findings kept of each rule, the first ones.
  static constexpr std::size_t kMostARule = FindingLog::kMostARule;
  static constexpr std::size_t kMostStarts = 2 * kMostARule;

  // Call in order of steps. Findings that say nothing about a block's content are left out.
  void take(const Finding& finding);
  void forget_after(std::int64_t step);

  bool names(std::int32_t block) const { return faults_.contains(block); }
  // The rule that was broken when the request's row in that step started from a wrong state, so
  // that every state it left in the group is wrong; empty: none is known.
  std::optional<Rule> wrong_start(std::int64_t step, RequestId request, std::int32_t group) const;
  // The last fault up to `step` that still applies to a block with these writes; null: none does.
  const BlockFault* find(std::int32_t block, const BlockWrites& writes, std::int64_t step) const;

 private:
  using Start = std::tuple<std::int64_t, RequestId, std::int32_t>;  // step, request, group

  std::unordered_map<std::int32_t, std::vector<BlockFault>> faults_;  // by block; ascending steps
  std::map<Start, Rule> starts_;
  std::vector<std::size_t> taken_;  // [rule_table()]
};

}  // namespace hybridscope
