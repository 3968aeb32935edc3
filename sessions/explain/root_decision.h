// The decision behind a root (finding_roots.h): a finding names the state that a row read, which is
// often right where it lies; what went wrong is who chose it, where, or with which count.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/check/finding.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/finding_roots.h"

namespace hybridscope {

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
