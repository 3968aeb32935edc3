// Which findings of a run come from known bugs that its engine has (run --expect-known-bugs).
#pragma once

#include <string>
#include <vector>

#include "sessions/known_bugs/finding_cause.h"

namespace hybridscope {

class KnownFindings {
 public:
  // Takes the known bugs of the plan's profile and runner. The plan must outlive this object.
  explicit KnownFindings(const RunPlan& plan);

  // Does the cause of a finding, the first of its chain, name bugs that the engine has, and beside
  // them none but those whose policies the scenario sets? Then these bugs have shown.
  bool explains(const FindingCause& cause);

  // The plan's expected bugs (Expectation::known_bugs) that this engine has and that were the cause
  // of no finding, one sentence each. `all_searched`: is every finding's cause known that has one?
  // Else such a bug may be the cause of another finding, and the sentence says so.
  std::vector<std::string> missing(bool all_searched) const;

 private:
  bool has(const KnownBug* bug) const;
  bool is_set(const KnownBug& bug) const;
  bool applies(const ExpectedBug& expected, const KnownBug& bug) const;

  const RunPlan& plan_;
  EngineProfile profile_;
  std::vector<const KnownBug*> bugs_;   // that the engine has
  std::vector<const KnownBug*> shown_;  // that were a cause
};

}  // namespace hybridscope
