#include "sessions/shrink/kept_chain.h"

#include <fmt/core.h>

#include <algorithm>

#include "sessions/run/run_plan.h"

namespace hybridscope {
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
