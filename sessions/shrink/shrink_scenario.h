// A smaller scenario that still breaks a rule: parts are left out and numbers lowered, one after
// the other, until nothing more can go. The same scenario gives the same result everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "core/check/step_checker.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

// How large a scenario is, in the order in which that counts: of two, the one that is smaller in
// the first number that differs is smaller.
struct ScenarioSize {
  std::int64_t whole_profiles = 0;  // `engine` other than safe, which is many policies
  std::int64_t requests = 0;
  std::int64_t draws = 0;          // up to the violation, decided by the seed
  std::int64_t script_things = 0;  // commands, budgets, counts, changes of policy
  std::int64_t settings = 0;       // set, method and K as one
  std::int64_t shared_prompts = 0;
  std::int64_t violation_step = 0;
  std::int64_t steps = 0;  // of the run
  friend auto operator<=>(const ScenarioSize&, const ScenarioSize&) = default;
};

// Tokens say nothing of which is smaller: they are lowered where nothing else grows.
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
  std::optional<Rule> rule = {};           // empty: that of the first finding of severity error
  std::optional<std::string> detail = {};  // Finding::detail of the one to keep; empty: any
  CheckScope scope = CheckScope::step;
  bool keep_max_model_len = false;  // without it block tables are large, and runs slow
  std::int64_t max_runs = kDefaultShrinkRuns;
  // Asked before each step of each run; false: the smallest so far is the result. May be empty.
  std::function<bool(const ShrinkProgress&)> go_on = {};
};

enum class ShrinkEnd : std::uint8_t {
  smallest,     // nothing that is tried can go
  run_limit,    // max_runs were made
  interrupted,  // go_on said so
};

struct ShrunkScenario {
  // Without `teaches` and `twin`, which told of another run; `expect` lists what its run finds, so
  // that `hybridscope run` is content with it as long as it does.
  Scenario scenario;
  Rule rule = Rule::running_state_wrong;
  std::int64_t violation_step = 0;
  std::string text;  // the finding in words
  ScenarioSize size_before = {};
  ScenarioSize size_after = {};
  std::int64_t num_runs = 0;
  ShrinkEnd end = ShrinkEnd::smallest;
};

// The rule is kept in the variant of its first finding (Finding::detail), and no error comes before
// it that did not come before it in `scenario`: that would be another fault. Neither the run nor
// the step of the violation nor the file (without `expect` and the names of policies) gets longer.
// Errors: what the plan or the engine refuses of `scenario`; not_found when its run breaks no such
// rule, or go_on ends that run before it does.
Result<ShrunkScenario> shrink_scenario(const Scenario& scenario, const ShrinkOptions& options);

}  // namespace hybridscope
