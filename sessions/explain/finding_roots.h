// Which findings follow from which: a row that starts from a wrong state leaves wrong states, and
// each of them is a finding again. A root is the first finding of such a chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/check/finding.h"

namespace hybridscope {

// A cause is looked for behind so many roots of a run (sessions/known_bugs, sessions/judge).
inline constexpr std::size_t kMaxRootsWithCause = 5;

struct FindingRoot {
  Finding finding;
  std::int64_t num_following = 0;  // findings of the chain behind it
  std::int64_t last_step = 0;      // of the chain
};

class FindingRoots {
 public:
  // Findings of severity error, in the order of their steps. Returns the number of their root: a
  // finding follows from a chain if
  // - the write that left what it saw was made by a row of the chain, or copied what one had left,
  // - the chain has a finding of the same row already,
  // - it reads what the chain found registered under another name,
  // - the chain found the same block wrongly registered in an earlier step, or
  // - the chain has a finding of the request in the step before, and a write left what it saw, or
  //   the rule is that of the chain.
  std::size_t add(const Finding& finding);
  // In the order of their first findings.
  const std::vector<FindingRoot>& roots() const { return roots_; }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Last {
    std::int64_t step = 0;
    std::size_t root = kNone;
  };
  // What a registered block should hold, and what it holds.
  struct WrongLabel {
    std::int32_t group = -1;
    ContentKind content = ContentKind::none;
    std::int64_t expected = -1;
    std::int64_t seen = -1;
    auto operator<=>(const WrongLabel&) const = default;
  };
  static WrongLabel label_of(const Finding& finding);

  std::size_t of_row(RequestId request, std::int64_t step) const;
  std::size_t find(const Finding& finding) const;

  std::vector<FindingRoot> roots_;
  std::map<std::pair<std::int32_t, std::int64_t>, std::size_t> of_row_;  // request and step
  std::map<std::int32_t, Last> last_of_;                                 // request
  std::map<WrongLabel, std::size_t> of_label_;
  std::map<std::pair<std::int32_t, WrongLabel>, std::size_t> of_registered_;  // block
  std::map<Rule, std::size_t> of_rule_;  // findings of no request
};

// "38 findings follow from it, to step 12"; empty: none.
std::string following_words(const FindingRoot& root);

}  // namespace hybridscope
