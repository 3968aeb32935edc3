#include "sessions/shrink/shrink_scenario.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/engine/policy_table.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/scenario_writer.h"
#include "sessions/shrink/list_reduction.h"
#include "sessions/shrink/probe_run.h"
#include "sessions/shrink/scenario_edits.h"
#include "sessions/shrink/scenario_numbers.h"

namespace hybridscope {
namespace {

ScenarioSize size_of(const Scenario& scenario, const ProbedRun& run) {
  return {
      .whole_profiles =
          scenario.settings.engine.value_or(EngineProfile::safe) == EngineProfile::safe ? 0 : 1,
      .requests = static_cast<std::int64_t>(scenario.requests.size()),
      .draws = static_cast<std::int64_t>(run.draws.size()),
      .script_things = static_cast<std::int64_t>(split_script(scenario.script).size()),
      .settings = static_cast<std::int64_t>(set_settings(scenario.settings).size()),
      .shared_prompts = static_cast<std::int64_t>(sharing_requests(scenario).size()),
      .violation_step = run.violation->finding.step,
      .steps = run.num_steps,
  };
}

// The length of its file without policies: the name of one policy may be longer than a profile's.
std::size_t length_of(Scenario scenario) {
  scenario.settings.engine.reset();
  scenario.settings.policies = {};
  return write_scenario(scenario).size();
}

// The condition on a candidate besides having the finding.
enum class Wanted : std::uint8_t {
  smaller,                  // smaller by ScenarioSize
  smaller_with_same_words,  // smaller, and the finding's text is unchanged
  not_larger,               // not larger by ScenarioSize; the caller lowers something else
};

class Shrinker {
 public:
  Shrinker(const ShrinkOptions& options, Scenario scenario)
      : options_(options), best_(std::move(scenario)) {}

  // Error: there is nothing to shrink.
  Status begin();
  void run();
  ShrunkScenario result() const;

 private:
  bool more() const { return end_ == ShrinkEnd::smallest; }
  bool try_keep(const Scenario& candidate, Wanted wanted);
  Result<ProbedRun> probe(const Scenario& candidate);
  bool has_no_new_error(const ProbedRun& run) const;
  bool has_another_cause(const Scenario& candidate);
  void keep(Scenario candidate, ProbedRun run);

  // In order of how much they usually remove; each returns whether anything was removed.
  bool drop_what_is_behind();
  template <class Without>
  bool drop_parts(std::size_t count, const Without& without);
  bool drop_settings();
  bool name_the_policy();
  bool script_the_draws();
  bool lower_numbers();
  bool lower(const ScenarioNumber& number);

  const ShrinkOptions& options_;
  Scenario best_;
  ProbedRun best_run_;
  ScenarioSize size_;
  ScenarioSize first_size_;
  std::size_t first_length_ = 0;
  Rule rule_ = Rule::running_state_wrong;
  std::string detail_;
  // Rule and detail of the scenario's errors before its violation.
  std::set<std::string> first_errors_;
  bool keeps_cause_ = false;
  std::int64_t num_runs_ = 0;
  ShrinkEnd end_ = ShrinkEnd::smallest;
  // Candidates by their text: the size, or empty if the rule is not broken. Only used for lookups.
  std::unordered_map<std::string, std::optional<ScenarioSize>> known_;
};

Status Shrinker::begin() {
  best_.expect = {};
  best_.teaches.clear();
  best_.twin.reset();
  ProbeOptions probe{.rule = options_.rule, .detail = options_.detail, .scope = options_.scope};
  if (options_.go_on)
    probe.go_on = [this] { return options_.go_on({.num_runs = num_runs_, .size = size_}); };
  ++num_runs_;
  auto run = probe_run(best_, probe);
  if (!run.ok()) return run.error();
  if (!run.value().violation) {
    const std::string wanted = options_.rule
                                   ? fmt::format("no finding {}", rule_info(*options_.rule).slug)
                                   : std::string("no finding of severity error");
    return Error{ErrorKind::not_found,
                 run.value().stopped ? fmt::format("interrupted: {} until then", wanted) : wanted};
  }
  if (run.value().stopped) end_ = ShrinkEnd::interrupted;
  rule_ = run.value().violation->finding.rule;
  first_errors_ = run.value().errors_before;
  detail_ = run.value().violation->finding.detail;
  best_run_ = std::move(run).value();
  size_ = first_size_ = size_of(best_, best_run_);
  first_length_ = length_of(best_);
  keeps_cause_ = options_.cause && !has_another_cause(best_);
  return Ok{};
}

// Runs a candidate. Stopped when the shrinker must stop.
Result<ProbedRun> Shrinker::probe(const Scenario& candidate) {
  ++num_runs_;
  ProbeOptions probe{
      .rule = rule_, .detail = detail_, .scope = options_.scope, .max_steps = first_size_.steps};
  if (options_.go_on)
    probe.go_on = [this] { return options_.go_on({.num_runs = num_runs_, .size = size_}); };
  auto run = probe_run(candidate, probe);
  if (run.ok() && run.value().stopped) end_ = ShrinkEnd::interrupted;
  return run;
}

void Shrinker::keep(Scenario candidate, ProbedRun run) {
  best_ = std::move(candidate);
  best_run_ = std::move(run);
  size_ = size_of(best_, best_run_);
}

// A new error before the violation would be another fault that causes it.
bool Shrinker::has_no_new_error(const ProbedRun& run) const {
  return std::includes(first_errors_.begin(), first_errors_.end(), run.errors_before.begin(),
                       run.errors_before.end());
}

// Is the finding there without the policies of its cause too?
bool Shrinker::has_another_cause(const Scenario& candidate) {
  Scenario without = candidate;
  for (std::size_t policy = 0; policy < kNumPolicies; ++policy)
    if (options_.cause->values[policy])
      without.settings.policies.values[policy] = policy_table()[policy].safe;
  const auto run = probe(without);
  return run.ok() && run.value().violation.has_value();
}

bool Shrinker::try_keep(const Scenario& candidate, Wanted wanted) {
  if (!more() || candidate == best_) return false;
  if (length_of(candidate) > first_length_) return false;
  const std::string text = write_scenario(candidate);
  const auto fits = [&](const ScenarioSize& size) {
    return size.violation_step <= first_size_.violation_step &&
           (wanted == Wanted::not_larger ? size <= size_ : size < size_);
  };
  const auto known = known_.find(text);
  if (known != known_.end() && !(known->second && fits(*known->second))) return false;
  if (num_runs_ >= options_.max_runs) {
    end_ = ShrinkEnd::run_limit;
    return false;
  }
  // The scenario reader decides whether a candidate is valid.
  auto read = parse_scenario({.text = text, .file = "candidate"});
  if (!read.ok()) return false;
  auto run = probe(read.value());
  if (end_ == ShrinkEnd::interrupted) return false;
  bool violates = run.ok() && run.value().violation && has_no_new_error(run.value());
  if (violates && keeps_cause_) violates = !has_another_cause(read.value());
  if (end_ == ShrinkEnd::interrupted) return false;
  std::optional<ScenarioSize> size;
  if (violates) size = size_of(read.value(), run.value());
  known_[text] = size;
  if (!size || !fits(*size)) return false;
  if (wanted == Wanted::smaller_with_same_words &&
      run.value().violation->text != best_run_.violation->text)
    return false;
  keep(std::move(read).value(), std::move(run).value());
  return true;
}

bool Shrinker::drop_what_is_behind() {
  const std::int64_t step = size_.violation_step;
  for (const std::int32_t margin : {0, 1, 1 << 20}) {
    const Scenario cut = cut_behind(best_, step, best_run_.num_output_tokens, margin);
    if (try_keep(cut, Wanted::not_larger)) return true;
  }
  return false;
}

template <class Without>
bool Shrinker::drop_parts(std::size_t count, const Without& without) {
  return reduce_list(
      count,
      [&](std::size_t first, std::size_t part) {
        return try_keep(without(best_, ListPart{first, part}), Wanted::smaller);
      },
      [this] { return more(); });
}

bool Shrinker::drop_settings() {
  return drop_parts(set_settings(best_.settings).size(),
                    [this](const Scenario& scenario, ListPart part) {
                      Scenario smaller = without_settings(scenario, part);
                      if (options_.keep_max_model_len)
                        smaller.settings.max_model_len = scenario.settings.max_model_len;
                      return smaller;
                    });
}

// A release stays as it is: with one policy on profile safe it would be an engine that nobody runs.
bool Shrinker::name_the_policy() {
  if (release_of(best_.settings)) return false;
  const std::vector<Scenario> candidates = with_one_policy(best_);
  for (const Wanted wanted : {Wanted::smaller_with_same_words, Wanted::smaller})
    for (const Scenario& candidate : candidates)
      if (try_keep(candidate, wanted)) return true;
  return false;
}

// Scripts all draws, or only those that a fixed acceptance rate does not give.
bool Shrinker::script_the_draws() {
  if (best_run_.draws.empty()) return false;
  const std::array<std::optional<int>, 3> rates = {0, 1, std::nullopt};
  for (const std::optional<int> rate : rates)
    if (try_keep(with_scripted_draws(best_, best_run_.draws, rate), Wanted::smaller)) return true;
  return false;
}

// Tries the least value, then bisects down to a value that holds while one less does not.
bool Shrinker::lower(const ScenarioNumber& number) {
  const Scenario start = best_;
  const auto lowered = [&](std::int64_t value) {
    return try_keep(number.set(start, value), Wanted::not_larger);
  };
  if (lowered(number.least)) return true;
  std::int64_t fails = number.least;
  std::int64_t holds = number.value;
  while (more() && holds - fails > 1) {
    const std::int64_t middle = fails + (holds - fails) / 2;
    (lowered(middle) ? holds : fails) = middle;
  }
  return holds != number.value;
}

bool Shrinker::lower_numbers() {
  bool lowered = false;
  for (std::size_t i = 0; more(); ++i) {
    const std::vector<ScenarioNumber> numbers = scenario_numbers(best_);
    if (i >= numbers.size()) break;
    lowered = lower(numbers[i]) || lowered;
  }
  return lowered;
}

void Shrinker::run() {
  for (bool smaller = true; smaller && more();) {
    smaller = drop_what_is_behind();
    smaller = name_the_policy() || smaller;
    smaller = drop_parts(best_.requests.size(), without_requests) || smaller;
    smaller = drop_parts(split_script(best_.script).size(), without_script) || smaller;
    smaller = drop_parts(sharing_requests(best_).size(), without_sharing) || smaller;
    smaller = drop_settings() || smaller;
    smaller = script_the_draws() || smaller;
    smaller = lower_numbers() || smaller;
  }
}

ShrunkScenario Shrinker::result() const {
  ShrunkScenario shrunk;
  shrunk.scenario = best_;
  shrunk.scenario.expect.findings = best_run_.found;
  shrunk.rule = rule_;
  shrunk.violation_step = size_.violation_step;
  shrunk.text = best_run_.violation->text;
  shrunk.size_before = first_size_;
  shrunk.size_after = size_;
  shrunk.num_runs = num_runs_;
  shrunk.end = end_;
  return shrunk;
}

}  // namespace

ScenarioTokens count_tokens(const Scenario& scenario) {
  ScenarioTokens tokens;
  for (const ScenarioRequest& request : scenario.requests) {
    tokens.prompt += request.prompt.tokens;
    tokens.output += request.max_tokens;
  }
  return tokens;
}

Result<ShrunkScenario> shrink_scenario(const Scenario& scenario, const ShrinkOptions& options) {
  Shrinker shrinker(options, scenario);
  if (Status begun = shrinker.begin(); !begun.ok()) return begun.error();
  shrinker.run();
  return shrinker.result();
}

}  // namespace hybridscope
