// Which findings of a run come from known bugs that its engine has (run --expect-known-bugs).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sessions/known_bugs/finding_cause.h"

namespace hybridscope {

class KnownFindings {
 public:
  // Of the plan's profile and runner. The plan must outlive this object.
  explicit KnownFindings(const RunPlan& plan);

  // What the finding, the first of its chain, comes from, in words; `cause` is what find_cause()
  // says of it. Empty: from no bug that the engine is known to have. Where no bug alone is the
  // cause, the plan is run once more without all of them: what is gone then comes from several.
  std::string source(const Finding& finding, const FindingCause& cause);

  // The plan's expected bugs (Expectation::known_bugs) that this engine has and that were the cause
  // of no finding, one sentence each.
  std::vector<std::string> missing() const;

 private:
  bool has(const KnownBug* bug) const;
  bool applies(const ExpectedBug& expected, const KnownBug& bug) const;
  bool is_gone_without_all(const Finding& finding);
  void run_without_all();

  const RunPlan& plan_;
  EngineProfile profile_;
  std::vector<const KnownBug*> bugs_;   // that the engine has
  std::vector<PolicyOverrides> shown_;  // the policies of those that were a cause
  // Findings of the run without all of them; empty: it was not needed yet, or cannot be made.
  std::optional<std::vector<Finding>> without_all_;
  bool was_run_ = false;
};

}  // namespace hybridscope
