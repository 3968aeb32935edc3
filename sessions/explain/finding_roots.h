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
  // - the chain has a finding of the whole batch in the same step (a count of rows, a graph), or in
  //   the step before, whose rows then did not leave what is read now; or it is one, and the chain
  //   has a count of a request in the same step,
  // - the chain found that the request sampled other tokens than it could,
  // - the chain has a finding about who holds its block, or under which hash,
  // - a padding row of the chain left what it sees, or it writes a block that the chain found
  //   unwritten in this step,
  // - the chain found the same block wrongly registered in an earlier step, or
  // - the chain has a finding of the request in the step before, of counts in the two before.
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

  // A finding of the whole batch, in one group or (-1) in all.
  struct OfBatch {
    std::int64_t step = -1;
    std::int32_t group = -1;
    std::size_t root = kNone;
  };
  std::size_t of_row(RequestId request, std::int64_t step) const;
  std::size_t of_batch(const Finding& finding) const;
  std::size_t of_block(const Finding& finding) const;
  std::size_t of_access(const Finding& finding) const;
  std::size_t of_label(const Finding& finding) const;
  void keep_blocks(const Finding& finding, std::size_t root);
  std::size_t find(const Finding& finding) const;

  std::vector<FindingRoot> roots_;
  std::map<std::pair<std::int32_t, std::int64_t>, std::size_t> of_row_;  // request and step
  std::map<std::int32_t, Last> last_of_;                                 // request
  std::map<WrongLabel, std::size_t> of_label_;
  std::map<std::pair<std::int32_t, WrongLabel>, std::size_t> of_registered_;  // block
  std::map<Rule, std::size_t> of_rule_;                    // findings of no request
  OfBatch of_batch_;                                       // the last one
  Last of_count_;                                          // the last one of a request
  std::map<std::int32_t, std::size_t> of_unknown_tokens_;  // request
  // Blocks that a finding about tables, references or registrations names.
  std::map<std::int32_t, std::size_t> of_block_;
  std::map<std::int32_t, Last> of_access_;  // blocks that a row read or wrote and should not have
};

// "38 findings follow from it, to step 12"; empty: none.
std::string following_words(const FindingRoot& root);
// "81 findings follow from it, to step 33; 20 of 81 shown", for a list that has `num_shown` of
// them.
std::string following_words(const FindingRoot& root, std::int64_t num_shown);

}  // namespace hybridscope
