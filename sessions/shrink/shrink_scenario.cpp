#include "sessions/shrink/shrink_scenario.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <unordered_map>

#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/shrink/scenario_edits.h"

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
      : options_(options),
        chain_(options,
               options.go_on
                   ? [this] { return options_.go_on({.num_runs = num_runs_, .size = size_}); }
                   : std::function<bool()>()),
        best_(std::move(scenario)) {}

  // Error: there is nothing to shrink.
  Status begin() {
    best_.expect = {};
    best_.teaches.clear();
    best_.twin.reset();
    ++num_runs_;
    auto run = chain_.choose(best_);
    if (!run.ok()) return run.error();
    best_run_ = std::move(run).value();
    size_ = first_size_ = size_of(best_, best_run_);
    first_length_ = length_of(best_);
    return Ok{};
  }

  void run() {
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

  ShrunkScenario result() const {
    ShrunkScenario shrunk;
    shrunk.scenario = best_;
    shrunk.scenario.expect.findings = best_run_.found;
    shrunk.rule = chain_.rule();
    shrunk.violation_step = size_.violation_step;
    shrunk.text = best_run_.violation->text;
    shrunk.cause = chain_.cause();
    shrunk.size_before = first_size_;
    shrunk.size_after = size_;
    shrunk.num_runs = num_runs_;
    shrunk.end = chain_.was_stopped() ? ShrinkEnd::interrupted : end_;
    return shrunk;
  }

 private:
  bool more() const { return end_ == ShrinkEnd::smallest && !chain_.was_stopped(); }
  bool try_keep(const Scenario& candidate, Wanted wanted) {
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
    auto run = chain_.violating_run(read.value());
    if (!more()) return false;
    std::optional<ScenarioSize> size;
    if (run) size = size_of(read.value(), *run);
    if (size && fits(*size) && !chain_.has_same_cause(read.value(), *run)) size.reset();
    known_[text] = size;
    if (!size || !fits(*size)) return false;
    if (wanted == Wanted::smaller_with_same_words &&
        run->violation->text != best_run_.violation->text)
      return false;
    keep(std::move(read).value(), std::move(*run));
    return true;
  }

  void keep(Scenario candidate, ProbedRun run) {
    best_ = std::move(candidate);
    best_run_ = std::move(run);
    size_ = size_of(best_, best_run_);
  }

  // In order of how much they usually remove; each returns whether anything was removed.
  bool drop_what_is_behind() {
    const std::int64_t step = size_.violation_step;
    for (const std::int32_t margin : {0, 1, 1 << 20}) {
      const Scenario cut = cut_behind(best_, step, best_run_.num_output_tokens, margin);
      if (try_keep(cut, Wanted::not_larger)) return true;
    }
    return false;
  }
  template <class Without>
  bool drop_parts(std::size_t count, const Without& without);
  bool drop_settings() {
    return drop_parts(set_settings(best_.settings).size(),
                      [this](const Scenario& scenario, ListPart part) {
                        Scenario smaller = without_settings(scenario, part);
                        if (options_.keep_max_model_len)
                          smaller.settings.max_model_len = scenario.settings.max_model_len;
                        return smaller;
                      });
  }
  // A release stays as it is: with one policy on profile safe it would be an engine that nobody
  // runs.
  bool name_the_policy() {
    if (release_of(best_.settings)) return false;
    const std::vector<Scenario> candidates = with_one_policy(best_);
    for (const Wanted wanted : {Wanted::smaller_with_same_words, Wanted::smaller})
      for (const Scenario& candidate : candidates)
        if (try_keep(candidate, wanted)) return true;
    return false;
  }
  // Scripts all draws, or only those that a fixed acceptance rate does not give.
  bool script_the_draws() {
    if (best_run_.draws.empty()) return false;
    const std::array<std::optional<int>, 3> rates = {0, 1, std::nullopt};
    for (const std::optional<int> rate : rates)
      if (try_keep(with_scripted_draws(best_, best_run_.draws, rate), Wanted::smaller)) return true;
    return false;
  }
  bool lower_numbers() {
    bool lowered = false;
    for (std::size_t i = 0; more(); ++i) {
      const std::vector<ScenarioNumber> numbers = scenario_numbers(best_);
      if (i >= numbers.size()) break;
      lowered = lower(numbers[i]) || lowered;
    }
    return lowered;
  }
  // Tries the least value, then bisects down to a value that holds while one less does not.
  bool lower(const ScenarioNumber& number) {
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

  const ShrinkOptions& options_;
  KeptChain chain_;
  Scenario best_;
  ProbedRun best_run_;
  ScenarioSize size_;
  ScenarioSize first_size_;
  std::size_t first_length_ = 0;
  std::int64_t num_runs_ = 0;
  ShrinkEnd end_ = ShrinkEnd::smallest;
  // Candidates by their text: the size, or empty if the rule is not broken. Only used for lookups.
  std::unordered_map<std::string, std::optional<ScenarioSize>> known_;
};

template <class Without>
bool Shrinker::drop_parts(std::size_t count, const Without& without) {
  return reduce_list(
      count,
      [&](std::size_t first, std::size_t part) {
        return try_keep(without(best_, ListPart{first, part}), Wanted::smaller);
      },
      [this] { return more(); });
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

namespace {

// Chains that break the rule, of which one of a given cause is looked for.
constexpr std::size_t kMaxChainsAsked = 8;

}  // namespace

// What the options ask for.
ProbeOptions KeptChain::options_of_all() const {
  return {
      .rule = options_.rule, .detail = options_.detail, .scope = options_.scope, .go_on = go_on_};
}

ProbeOptions KeptChain::options_of_chain() const {
  ProbeOptions options = options_of_all();
  options.rule = rule_;
  options.detail = detail_;
  options.root = root_;
  return options;
}

Result<ProbedRun> KeptChain::run_probe(const Scenario& scenario, const ProbeOptions& options) {
  auto run = probe_run(scenario, options);
  was_stopped_ = was_stopped_ || (run.ok() && run.value().stopped);
  return run;
}

Result<ProbedRun> KeptChain::choose(const Scenario& scenario) {
  auto first = run_probe(scenario, options_of_all());
  if (!first.ok()) return first;
  ProbedRun best = std::move(first).value();
  if (Status chosen = choose_violation(scenario, best); !chosen.ok()) return chosen.error();
  if (auto again = run_to_chosen(scenario, best); again && again->violation)
    best = std::move(*again);
  if (cause_.is_known() && !was_stopped_)
    if (auto wanted = probe_for_cause(scenario, best); wanted && wanted->violation) {
      best = std::move(*wanted);
      asks_what_is_left_ = true;
    }
  first_errors_ = best.errors_before;
  first_steps_ = best.num_steps;
  return best;
}

// The violation becomes run.violation.
Status KeptChain::choose_violation(const Scenario& scenario, ProbedRun& run) {
  const std::string wanted = options_.rule
                                 ? fmt::format("no finding {}", rule_info(*options_.rule).slug)
                                 : std::string("no finding of severity error");
  if (!run.violation)
    return Error{ErrorKind::not_found,
                 run.stopped ? fmt::format("interrupted: {} until then", wanted) : wanted};
  std::vector<Violation> chains = run.chains;
  chains.resize(std::min(chains.size(), options_.cause ? kMaxChainsAsked : 1));
  const std::vector<FindingCause> causes = causes_of(scenario, chains);
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
std::vector<FindingCause> KeptChain::causes_of(const Scenario& scenario,
                                               std::span<const Violation> chains) const {
  const auto plan = plan_scenario(scenario, "scenario");
  if (!plan.ok()) return std::vector<FindingCause>(chains.size());
  std::vector<Finding> roots;
  for (const Violation& violation : chains) roots.push_back(violation.root);
  return find_causes(plan.value(), roots, {.scope = options_.scope});
}

// Runs the scenario up to the chosen violation, which the run that it was chosen from goes beyond
// or ends before.
std::optional<ProbedRun> KeptChain::run_to_chosen(const Scenario& scenario,
                                                  const ProbedRun& first) {
  const Violation& chosen = *first.violation;
  ProbeOptions options = options_of_chain();
  options.roots_from = chosen.root.step;
  for (const Violation& other : first.chains)
    if (other.root.step == chosen.root.step && other.request != chosen.request)
      options.without_roots_of.insert(other.request);
  auto again = run_probe(scenario, options);
  return again.ok() ? std::optional(std::move(again).value()) : std::nullopt;
}

// Runs a candidate; empty: it is refused, or longer than the first run.
std::optional<ProbedRun> KeptChain::probe(const Scenario& candidate,
                                          std::set<std::string> without_roots_of) {
  ProbeOptions options = options_of_chain();
  options.without_roots_of = std::move(without_roots_of);
  if (first_steps_ > 0) options.max_steps = first_steps_;
  auto probed = run_probe(candidate, options);
  return probed.ok() ? std::optional(std::move(probed).value()) : std::nullopt;
}

// The candidate's run with the first violation whose chain does not begin without the cause too.
// `run`: with the first violation of any.
std::optional<ProbedRun> KeptChain::probe_for_cause(const Scenario& candidate, ProbedRun run) {
  Scenario without = candidate;
  switch_off(cause_.policies, without.settings, without.script);
  ProbeOptions options = options_of_all();
  options.rule = root_.rule;
  options.detail = root_.detail;
  const auto left = run_probe(without, options);
  if (!left.ok()) return std::nullopt;
  std::set<std::string> requests;
  for (const Violation& violation : left.value().chains) requests.insert(violation.request);
  if (run.violation && !requests.contains(run.violation->request)) return run;
  return probe(candidate, std::move(requests));
}

std::optional<ProbedRun> KeptChain::violating_run(const Scenario& candidate) {
  auto run = probe(candidate, {});
  if (!run || !run->violation || was_stopped_) return std::nullopt;
  if (asks_what_is_left_) run = probe_for_cause(candidate, std::move(*run));
  if (!run || !run->violation || was_stopped_) return std::nullopt;
  // A new error before the violation would be another fault that causes it.
  if (!std::ranges::includes(first_errors_, run->errors_before)) return std::nullopt;
  return run;
}

bool KeptChain::has_same_cause(const Scenario& candidate, const ProbedRun& run) const {
  if (!cause_.is_known() && !options_.cause) return true;
  const FindingCause cause = causes_of(candidate, std::span(&*run.violation, 1)).front();
  return cause.key == cause_.key || (!cause.not_searched.empty() && asks_what_is_left_);
}

}  // namespace hybridscope
