#include "sessions/shrink/shrink_scenario.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/scenario_writer.h"
#include "sessions/shrink/list_reduction.h"
#include "sessions/shrink/probe_run.h"
#include "sessions/shrink/scenario_edits.h"
#include "sessions/shrink/scenario_numbers.h"

namespace hybridscope {
namespace {

// Chains that break the rule, of which one of a given cause is looked for.
constexpr std::size_t kMaxChainsAsked = 8;

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
  ProbeOptions probe_options();
  Status choose(ProbedRun& run);
  std::vector<FindingCause> causes_of(const Scenario& scenario,
                                      std::span<const Violation> chains) const;
  std::optional<ProbedRun> probe(const Scenario& candidate, std::set<std::string> without_roots_of);
  std::optional<ProbedRun> probe_chosen();
  std::optional<ProbedRun> probe_for_cause(const Scenario& candidate, ProbedRun run);
  std::optional<ProbedRun> violating_run(const Scenario& candidate);
  bool has_no_new_error(const ProbedRun& run) const;
  bool has_same_cause(const Scenario& candidate, const ProbedRun& run) const;
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
  ProbedKind root_;     // of the first finding of its chain
  FindingCause cause_;  // of that finding; without one the rule alone is kept
  // Can the chain be told from others by what is left without its cause? Not if a finding like its
  // first one is left for the same request.
  bool asks_what_is_left_ = false;
  std::int64_t num_runs_ = 0;
  ShrinkEnd end_ = ShrinkEnd::smallest;
  // Candidates by their text: the size, or empty if the rule is not broken. Only used for lookups.
  std::unordered_map<std::string, std::optional<ScenarioSize>> known_;
};

ProbeOptions Shrinker::probe_options() {
  ProbeOptions probe{.rule = options_.rule, .detail = options_.detail, .scope = options_.scope};
  if (options_.go_on)
    probe.go_on = [this] { return options_.go_on({.num_runs = num_runs_, .size = size_}); };
  return probe;
}

Status Shrinker::begin() {
  best_.expect = {};
  best_.teaches.clear();
  best_.twin.reset();
  ++num_runs_;
  auto run = probe_run(best_, probe_options());
  if (!run.ok()) return run.error();
  if (Status chosen = choose(run.value()); !chosen.ok()) return chosen;
  if (run.value().stopped) end_ = ShrinkEnd::interrupted;
  best_run_ = std::move(run).value();
  if (auto again = probe_chosen(); again && again->violation) best_run_ = std::move(*again);
  if (cause_.is_known() && more())
    if (auto wanted = probe_for_cause(best_, best_run_); wanted && wanted->violation) {
      best_run_ = std::move(*wanted);
      asks_what_is_left_ = true;
    }
  first_errors_ = best_run_.errors_before;
  size_ = first_size_ = size_of(best_, best_run_);
  first_length_ = length_of(best_);
  return Ok{};
}

// Which violation to keep: of the cause that is asked for, else the first. It becomes
// run.violation.
Status Shrinker::choose(ProbedRun& run) {
  const std::string wanted = options_.rule
                                 ? fmt::format("no finding {}", rule_info(*options_.rule).slug)
                                 : std::string("no finding of severity error");
  if (!run.violation)
    return Error{ErrorKind::not_found,
                 run.stopped ? fmt::format("interrupted: {} until then", wanted) : wanted};
  std::vector<Violation> chains = run.chains;
  chains.resize(std::min(chains.size(), options_.cause ? kMaxChainsAsked : 1));
  const std::vector<FindingCause> causes = causes_of(best_, chains);
  const auto chosen = std::ranges::find_if(causes, [this](const FindingCause& cause) {
    return !options_.cause || cause.key == *options_.cause;
  });
  if (chosen == causes.end())
    return Error{ErrorKind::not_found,
                 wanted + (options_.cause->empty() ? " whose cause is not known"
                                                   : " that comes from " + *options_.cause)};
  const Violation& violation = chains[static_cast<std::size_t>(chosen - causes.begin())];
  rule_ = violation.finding.rule;
  detail_ = violation.finding.detail;
  root_ = {violation.root.rule, std::string(violation.root.detail)};
  cause_ = *chosen;
  run.violation = violation;
  return Ok{};
}

// [chains] of their roots; without a cause where the search's plan is refused.
std::vector<FindingCause> Shrinker::causes_of(const Scenario& scenario,
                                              std::span<const Violation> chains) const {
  const auto plan = plan_scenario(scenario, "scenario");
  if (!plan.ok()) return std::vector<FindingCause>(chains.size());
  std::vector<Finding> roots;
  for (const Violation& violation : chains) roots.push_back(violation.root);
  return find_causes(plan.value(), roots, {.scope = options_.scope});
}

// Runs the scenario up to the chosen violation, which the run that it was chosen from goes beyond
// or ends before.
std::optional<ProbedRun> Shrinker::probe_chosen() {
  const Violation chosen = *best_run_.violation;
  ProbeOptions options = probe_options();
  options.rule = rule_;
  options.detail = detail_;
  options.root = root_;
  options.roots_from = chosen.root.step;
  for (const Violation& other : best_run_.chains)
    if (other.root.step == chosen.root.step && other.request != chosen.request)
      options.without_roots_of.insert(other.request);
  auto run = probe_run(best_, options);
  if (!run.ok()) return std::nullopt;
  if (run.value().stopped) end_ = ShrinkEnd::interrupted;
  return std::move(run).value();
}

// Runs a candidate; empty: it is refused, or longer than the first run. Stopped when the shrinker
// must stop.
std::optional<ProbedRun> Shrinker::probe(const Scenario& candidate,
                                         std::set<std::string> without_roots_of) {
  ProbeOptions options = probe_options();
  options.rule = rule_;
  options.detail = detail_;
  options.root = root_;
  options.without_roots_of = std::move(without_roots_of);
  if (first_size_.steps > 0) options.max_steps = first_size_.steps;
  auto run = probe_run(candidate, options);
  if (!run.ok()) return std::nullopt;
  if (run.value().stopped) end_ = ShrinkEnd::interrupted;
  return std::move(run).value();
}

// The candidate's run with the first violation whose chain does not begin without the cause too.
// `run`: with the first violation of any.
std::optional<ProbedRun> Shrinker::probe_for_cause(const Scenario& candidate, ProbedRun run) {
  Scenario without = candidate;
  switch_off(cause_.policies, without.settings, without.script);
  ProbeOptions options = probe_options();
  options.rule = root_.rule;
  options.detail = root_.detail;
  const auto left = probe_run(without, options);
  if (!left.ok()) return std::nullopt;
  std::set<std::string> requests;
  for (const Violation& violation : left.value().chains) requests.insert(violation.request);
  if (left.value().stopped) end_ = ShrinkEnd::interrupted;
  if (run.violation && !requests.contains(run.violation->request)) return run;
  return probe(candidate, std::move(requests));
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

// Runs a candidate that has the wanted violation without any error that is new; empty: it has not.
std::optional<ProbedRun> Shrinker::violating_run(const Scenario& candidate) {
  auto run = probe(candidate, {});
  if (!run || !run->violation || !more()) return std::nullopt;
  if (asks_what_is_left_) run = probe_for_cause(candidate, std::move(*run));
  if (!run || !run->violation || !more() || !has_no_new_error(*run)) return std::nullopt;
  return run;
}

// Does the search for causes name the same one? If it ends early, what is left without the cause
// has said so.
bool Shrinker::has_same_cause(const Scenario& candidate, const ProbedRun& run) const {
  if (!cause_.is_known() && !options_.cause) return true;
  const FindingCause cause = causes_of(candidate, std::span(&*run.violation, 1)).front();
  return cause.key == cause_.key || (!cause.not_searched.empty() && asks_what_is_left_);
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
  ++num_runs_;
  auto run = violating_run(read.value());
  if (!more()) return false;
  std::optional<ScenarioSize> size;
  if (run) size = size_of(read.value(), *run);
  if (size && fits(*size) && !has_same_cause(read.value(), *run)) size.reset();
  known_[text] = size;
  if (!size || !fits(*size)) return false;
  if (wanted == Wanted::smaller_with_same_words &&
      run->violation->text != best_run_.violation->text)
    return false;
  keep(std::move(read).value(), std::move(*run));
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
  shrunk.cause = cause_;
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
