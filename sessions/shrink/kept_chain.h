// The chain of findings that every smaller scenario must still have: a finding of one rule whose
// chain begins with one kind of finding and has one cause.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/scenario/scenario.h"
#include "sessions/shrink/probe_run.h"
#include "sessions/shrink/shrink_scenario.h"

namespace hybridscope {

class KeptChain {
 public:
  // `options` must outlive this object. `go_on`: called before each step of each run, false ends
  // the run; may be empty.
  KeptChain(const ShrinkOptions& options, std::function<bool()> go_on)
      : options_(options), go_on_(std::move(go_on)) {}

  // Runs the scenario, chooses the chain that the options ask for, else the first, and returns the
  // run with its violation. Errors: what the plan or the engine refuses; not_found: no such
  // violation, or stopped before it.
  Result<ProbedRun> choose(const Scenario& scenario);

  // After choose(). Runs a candidate that has the chain, and no earlier error that the scenario did
  // not have; empty: it has not, is refused, is longer, or the run was stopped.
  std::optional<ProbedRun> violating_run(const Scenario& candidate);
  // Does the search for causes name the same one for such a run? If it ends early, what is left
  // without the cause has said so.
  bool has_same_cause(const Scenario& candidate, const ProbedRun& run) const;

  Rule rule() const { return rule_; }
  const FindingCause& cause() const { return cause_; }
  // Did go_on end a run?
  bool was_stopped() const { return was_stopped_; }

 private:
  ProbeOptions options_of_all() const;
  ProbeOptions options_of_chain() const;
  Result<ProbedRun> run_probe(const Scenario& scenario, const ProbeOptions& options);
  Status choose_violation(const Scenario& scenario, ProbedRun& run);
  std::vector<FindingCause> causes_of(const Scenario& scenario,
                                      std::span<const Violation> chains) const;
  std::optional<ProbedRun> run_to_chosen(const Scenario& scenario, const ProbedRun& first);
  std::optional<ProbedRun> probe(const Scenario& candidate, std::set<std::string> without_roots_of);
  std::optional<ProbedRun> probe_for_cause(const Scenario& candidate, ProbedRun run);

  const ShrinkOptions& options_;
  std::function<bool()> go_on_;
  Rule rule_ = Rule::running_state_wrong;
  std::string detail_;
  ProbedKind root_;     // of the first finding of its chain
  FindingCause cause_;  // of that finding; without one the rule alone is kept
  // Rule and detail of the scenario's errors before its violation.
  std::set<std::string> first_errors_;
  std::int64_t first_steps_ = 0;  // of the scenario's run; 0: before choose()
  // Can the chain be told from others by what is left without its cause? Not if a finding like its
  // first one is left for the same request.
  bool asks_what_is_left_ = false;
  bool was_stopped_ = false;
};

}  // namespace hybridscope
