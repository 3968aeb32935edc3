// Finds a smaller scenario that still breaks a rule: removes parts and lowers numbers until nothing
// more can be removed. Deterministic on all machines.
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
#include "core/check/step_checker.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/scenario/scenario.h"
#include "sessions/shrink/probe_run.h"

namespace hybridscope {

// The size of a scenario. Scenarios are compared by the first member that differs.
struct ScenarioSize {
  std::int64_t whole_profiles = 0;  // `engine` other than safe, which sets many policies
  std::int64_t requests = 0;
  std::int64_t draws = 0;          // random draws up to the violation
  std::int64_t script_things = 0;  // commands, budgets, counts, changes of policy
  std::int64_t settings = 0;       // settings that are set; method and K count as one
  std::int64_t shared_prompts = 0;
  std::int64_t violation_step = 0;
  std::int64_t steps = 0;  // steps of the run
  friend auto operator<=>(const ScenarioSize&, const ScenarioSize&) = default;
};

// Token counts do not decide which scenario is smaller; they are lowered only while nothing else
// grows.
struct ScenarioTokens {
  std::int64_t prompt = 0;
  std::int64_t output = 0;  // max_tokens
  friend bool operator==(const ScenarioTokens&, const ScenarioTokens&) = default;
};
ScenarioTokens count_tokens(const Scenario& scenario);

struct ShrinkProgress {
  std::int64_t num_runs = 0;
  ScenarioSize size = {};
};

inline constexpr std::int64_t kDefaultShrinkRuns = 20'000;
inline constexpr std::int64_t kMostShrinkRuns = 1'000'000'000;

struct ShrinkOptions {
  std::optional<Rule> rule = {};           // empty: the rule of the first finding of severity error
  std::optional<std::string> detail = {};  // Finding::detail to keep; empty: any
  CheckScope scope = CheckScope::step;
  // The cause (FindingCause::key) of the finding to keep, "": none is known; without a value any,
  // that of the first finding.
  std::optional<std::string> cause = {};
  bool keep_max_model_len = false;  // without max_model_len block tables are large and runs slow
  // Attempts; the runs that ask for an attempt's cause are not counted.
  std::int64_t max_runs = kDefaultShrinkRuns;
  // Called before each step of each run; false: return the smallest scenario so far. May be empty.
  std::function<bool(const ShrinkProgress&)> go_on = {};
};

enum class ShrinkEnd : std::uint8_t {
  smallest,     // nothing more can be removed
  run_limit,    // max_runs runs were made
  interrupted,  // go_on ended it
};

struct ShrunkScenario {
  // Without `teaches` and `twin`, which described the original run. `expect` lists the findings of
  // its run, so that `hybridscope run` reports no difference.
  Scenario scenario;
  Rule rule = Rule::running_state_wrong;
  std::int64_t violation_step = 0;
  std::string text;  // the finding in words
  // What the finding comes from, in `scenario` as in the scenario that was given.
  FindingCause cause = {};
  ScenarioSize size_before = {};
  ScenarioSize size_after = {};
  std::int64_t num_runs = 0;
  ShrinkEnd end = ShrinkEnd::smallest;
};

// The result breaks the rule in the same variant (Finding::detail), in a chain that begins with a
// finding of the same rule and variant and has the same cause (find_causes); if no cause is known,
// none is asked for, unless the options ask for a finding without one. It has no earlier error that
// `scenario` does not have, because that would be another fault. The run, the step of the violation
// and the file (without `expect` and the names of policies) do not get longer. Errors: what the
// plan or the engine refuses of `scenario`; not_found when its run has no such violation or go_on
// ends the run before it.
Result<ShrunkScenario> shrink_scenario(const Scenario& scenario, const ShrinkOptions& options);

// The chain of findings that every smaller scenario must still have: a finding of one rule whose
// chain begins with one kind of finding and has one cause.

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
  FindingKind root_;    // of the first finding of its chain
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
