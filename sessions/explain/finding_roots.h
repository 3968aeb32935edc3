// Which findings follow from which: a row that starts from a wrong state leaves wrong states, and
// each of them is a finding again. A root is the first finding of such a chain; the decision behind
// it says what went wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/check/finding.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_names.h"

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

// The decision behind a root: a finding names the state that a row read, which is
// often right where it lies; what went wrong is who chose it, where, or with which count.

struct RootContext {
  const StepTrace& trace;  // of the finding's step
  const Names& names;
  std::optional<OwnCount> own = {};     // of the finding's request before the step
  std::optional<Finding> warning = {};  // the request's last one, up to the finding's step
};

// One phrase, the first of these that applies:
// - the request goes on from another count than its last row left: "A's count of computed tokens
//   fell from 6 to 4 after step 3";
// - the request's last row lacked a post-copy: "A's post-copy of step 2: running = ...";
// - the row runs with an accepted count that is not its own (wrong_count_words);
// - a warning tells of the row that wrote what was read: "A in step 1: the chunk ends at token 3,
//   off the block grid (last boundary: 0)";
// - the copy that chose the state: "A's pre-copy: column before = ...";
// - the row reads another column than its last row left the state in: "A runs as a prefill and
//   reads column 0; its state of 7 tokens is in column 1, left by step 2".
// The sentence is empty if the finding itself names the decision, or no more is known.
std::string root_decision(const Finding& finding, const RootContext& context);

// Chains of findings with the decision behind each, while steps go by.
class RootTracker {
 public:
  // `all_decisions`: do traces have all copy decisions, which accepted counts depend on?
  explicit RootTracker(bool all_decisions) : all_decisions_(all_decisions) {}

  // The number of the root of a finding of severity error, in roots(); the finding is the root if
  // that is new.
  std::size_t add(const Finding& finding) { return roots_.add(finding); }
  void add_warning(const Finding& finding) { warnings_[finding.request.value] = finding; }
  std::optional<Finding> last_warning(RequestId request) const;
  // root_decision() of a root of the step `trace`.
  std::string decision(const StepTrace& trace, const Finding& root, const Names& names) const;
  // To be called behind all findings of a step.
  void end_step(const StepTrace& trace) {
    if (all_decisions_) own_counts_.take(trace);
  }

  const std::vector<FindingRoot>& roots() const { return roots_.roots(); }
  const OwnCounts& own_counts() const { return own_counts_; }

 private:
  bool all_decisions_;
  FindingRoots roots_;
  OwnCounts own_counts_;
  std::map<std::int32_t, Finding> warnings_;  // the last one of each request
};

}  // namespace hybridscope
