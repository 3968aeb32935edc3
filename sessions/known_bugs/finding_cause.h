// Which known bug, or which policy, of a run's engine a finding comes from. Every command, report
// and window that names the cause of a finding of a run asks find_causes().
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/finding.h"
#include "sessions/known_bugs/policy_runs.h"
#include "sessions/run/finding_list.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

// Between bugs of one entry in FindingCause::key.
inline constexpr std::string_view kCauseKeyOr = " or ";

struct FindingCause {
  // "known bug 48, skipped-step-forgets-accepted-count", or "policy row_order = query_len" where no
  // known bug has it; empty: no cause is known.
  std::string words = {};
  // The bugs that are named: those of one entry are the same policy and fit equally, the entries
  // belong together as the words say.
  std::vector<std::vector<const KnownBug*>> bugs = {};
  // The cause as one name: "id", "id or id" of bugs that fit equally, "id+id" of bugs that are
  // named together, "row_order=query_len".
  std::string key = {};
  // The policies behind the finding: with the values of profile safe in their place it is gone.
  PolicyOverrides policies = {};
  // Why the search could not be made, or not to its end; empty: it was.
  std::string not_searched = {};

  bool is_known() const { return !words.empty(); }
};

// [findings] their causes. The plan is run again, up to the findings: as it is, without the
// policies of one known bug after the other (as profile safe has them), and with one known bug
// only. `findings`: of one run of the plan; the first of a chain each, or a warning.
//
// - A cause is a bug without which the finding is gone: no finding of its rule and detail about its
//   request is left where its chain was. Of a bug of two policies each has to be needed.
// - Of several, the one that brings the finding about without any other known bug, or else in
//   profile safe; else as many of them as bring it about together.
// - If the finding is there without each of them: the fewest bugs without all of which it is gone.
// - Without such bugs the same is asked of single policies.
// - Of bugs that the same policies bring back, the likely ones are named (policy_runs.h).
std::vector<FindingCause> find_causes(const RunPlan& plan, std::span<const Finding> findings,
                                      const CauseSearchOptions& options = {});
FindingCause find_cause(const RunPlan& plan, const Finding& finding,
                        const CauseSearchOptions& options = {});
// The causes of findings as they are shown (FindingList::find_causes).
std::vector<CauseWords> find_cause_words(const RunPlan& plan, std::span<const Finding> findings,
                                         const CauseSearchOptions& options = {});

// Which findings of a run come from known bugs that its engine has (run --expect-known-bugs).

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
