// The findings of a run's known steps: the first of each rule are listed, chains are followed over
// all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
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

}  // namespace hybridscope
