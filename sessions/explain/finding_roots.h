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
#include "core/trace/step_trace.h"
#include "sessions/explain/own_counts.h"

namespace hybridscope {

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
  // - the chain has a finding of the same row already, or
  // - no write left it, and the chain found the same about the request in the step before.
  std::size_t add(const Finding& finding);
  // In the order of their first findings.
  const std::vector<FindingRoot>& roots() const { return roots_; }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Last {
    std::int64_t step = 0;
    std::size_t root = kNone;
  };
  std::size_t of_row(RequestId request, std::int64_t step) const;
  std::size_t find(const Finding& finding) const;

  std::vector<FindingRoot> roots_;
  std::map<std::pair<std::int32_t, std::int64_t>, std::size_t> of_row_;  // request and step
  std::map<std::int32_t, Last> last_of_;                                 // request
  std::map<Rule, std::size_t> of_rule_;                                  // findings of no request
};

// What went wrong first, if more than the finding itself is known: the decision behind it. Empty:
// the finding says it. `trace` is the finding's step.
std::string root_words(const StepTrace& trace, const Finding& finding,
                       const std::optional<OwnCount>& own, const Names& names);

// "38 findings follow from it, to step 12"; empty: none.
std::string following_words(const FindingRoot& root);

}  // namespace hybridscope
