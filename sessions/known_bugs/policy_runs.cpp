#include "sessions/known_bugs/policy_runs.h"

#include <algorithm>

#include "core/engine/policy_table.h"
#include "core/numeric/hybrid_model.h"
#include "sessions/explain/finding_roots.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/scenario/known_bug_table.h"

namespace hybridscope {
namespace {

// A chain is followed for so many steps beyond the finding: without a policy that shapes the
// schedule the same fault may show a little later.
constexpr std::int64_t kStepsBehindChain = 16;
// So much later it may come where few of the policies are on, which run another schedule.
constexpr std::int64_t kStepsBehindAlone = 100;

// A language model computes about so many parameters of a token in the time of a request-step.
constexpr std::int64_t kParametersARequestStep = 20'000;

bool is_like(const Finding& a, const Finding& b) {
  return a.rule == b.rule && a.detail == b.detail && a.request == b.request;
}

bool is_same(const Finding& a, const Finding& b) {
  return is_like(a, b) && a.step == b.step && a.group == b.group && a.block == b.block &&
         a.content == b.content;
}

bool is_error_finding(const Finding& finding) {
  return rule_info(finding.rule).severity == Severity::error;
}

bool is_of_numbers(const Finding& finding) {
  return rule_info(finding.rule).evidence == Evidence::numbers;
}

std::int64_t num_parameters(const HybridModel& model) {
  std::int64_t count = 0;
  for (const std::vector<float>& tensor : model.tensors)
    count += static_cast<std::int64_t>(tensor.size());
  return count;
}

}  // namespace

void switch_off(const PolicyOverrides& policies, EngineSettings& settings,
                std::vector<ScriptStep>& script) {
  settings.policies = without_cause(settings.policies, policies);
  for (ScriptStep& step : script)
    for (const Policy& policy : policy_table())
      if (policies.values[policy.place] && step.policies.values[policy.place])
        step.policies.values[policy.place] = policy.safe;
}

PolicyRuns::PolicyRuns(const RunPlan& plan, std::span<const Finding> findings,
                       const CauseSearchOptions& options)
    : plan_(plan),
      options_(options),
      with_language_(options.language.model != nullptr &&
                     std::ranges::any_of(findings, is_of_numbers)),
      most_(options.most_request_steps *
            static_cast<std::int64_t>(std::min(findings.size(), kMaxRootsWithCause))),
      left_(most_) {
  for (const Finding& finding : findings) wanted_.push_back({.finding = &finding});
  if (with_language_)
    token_cost_ = 1 + num_parameters(*options.language.model) / kParametersARequestStep;
  run_as_it_is();
}

std::optional<FindingOccurrence> PolicyRuns::occurs(std::size_t wanted, const PolicyPlaces& off) {
  if (is_exhausted()) return std::nullopt;
  const auto [known, fresh] = runs_.try_emplace(off);
  if (fresh) known->second = run_without(off);
  if (!known->second) return std::nullopt;
  return (*known->second)[wanted];
}

RunPlan PolicyRuns::plan_without(const PolicyPlaces& off) const {
  PolicyOverrides switched_off;
  for (const Policy& policy : policy_table())
    if (off[policy.place]) switched_off.values[policy.place] = policy.safe;
  RunPlan plan = plan_;
  switch_off(switched_off, plan.settings, plan.script);
  return plan;
}

// Gives `visit` each step up to `last`; it returns whether to go on. False: the plan cannot run so,
// or too much has been run.
template <class Visit>
bool PolicyRuns::run(RunPlan plan, std::int64_t last, const Visit& visit) {
  auto setup = make_engine_setup(plan.setup.layout.model, plan.settings);
  if (!setup.ok()) return false;
  plan.setup = std::move(setup).value();
  CheckedRunOptions checks{.check = options_.scope};
  if (with_language_) checks.language = options_.language;
  auto created = CheckedRun::create(std::move(plan), std::move(checks));
  if (!created.ok()) return false;
  const auto driven = drive(created.value(), [&](const CheckedStep& step) {
    const StepTrace& trace = step.trace;
    if (trace.step > last) return Going::stop;
    left_ -= static_cast<std::int64_t>(trace.rows.size()) + 1 +
             token_cost_ * static_cast<std::int64_t>(trace.tokens.size());
    return !is_exhausted() && visit(step) ? Going::on : Going::stop;
  });
  return driven.ok() && !is_exhausted();
}

void PolicyRuns::run_as_it_is() {
  std::int64_t last = 0;
  for (const WantedFinding& one : wanted_)
    last = std::max(last, one.finding->step + kStepsBehindChain);
  FindingRoots roots;
  std::vector<std::pair<Finding, std::size_t>> seen;  // with their roots
  run(plan_, last, [&](const CheckedStep& step) {
    for (const Finding& finding : step.findings) {
      seen.emplace_back(finding, is_error_finding(finding) ? roots.add(finding) : SIZE_MAX);
      for (WantedFinding& one : wanted_) note(one, finding, step.trace);
    }
    return true;
  });
  for (WantedFinding& one : wanted_)
    if (one.is_shown) set_steps(one, seen);
}

void PolicyRuns::note(WantedFinding& one, const Finding& finding, const StepTrace& trace) {
  if (one.is_shown || !is_same(finding, *one.finding)) return;
  one.is_shown = true;
  // A finding of the whole batch is about the prompt that is padded in it, if one is.
  const auto of = std::ranges::find_if(trace.scheduled, [&](const ScheduledTrace& scheduled) {
    return finding.request.value < 0 ? scheduled.placeholder_drafts
                                     : scheduled.request == finding.request;
  });
  if (of != trace.scheduled.end()) one.num_prompt_tokens = of->num_prompt_tokens;
}

void PolicyRuns::set_steps(WantedFinding& one,
                           std::span<const std::pair<Finding, std::size_t>> seen) {
  const auto own = std::ranges::find_if(
      seen, [&one](const auto& other) { return is_same(other.first, *one.finding); });
  one.last = one.finding->step;
  for (const auto& [finding, root] : seen) {
    if (!is_like(finding, *one.finding)) continue;
    if (root == own->second)
      one.last = std::max(one.last, finding.step);
    else if (finding.step < one.finding->step)
      one.after = finding.step;
    else if (finding.step > one.finding->step)
      break;
  }
}

std::optional<PolicyRuns::Occurs> PolicyRuns::run_without(const PolicyPlaces& off) {
  std::int64_t last = 0;
  for (const WantedFinding& one : wanted_) last = std::max(last, one.last + kStepsBehindAlone);
  Occurs occurs(wanted_.size());
  const bool ran = run(plan_without(off), last, [&](const CheckedStep& step) {
    for (const Finding& finding : step.findings)
      for (std::size_t i = 0; i < wanted_.size(); ++i)
        if (is_like(finding, *wanted_[i].finding)) {
          occurs[i].later_too = occurs[i].later_too || finding.step > wanted_[i].after;
          occurs[i].in_chain = occurs[i].in_chain || wanted_[i].is_in(finding.step);
        }
    return !std::ranges::all_of(occurs, &FindingOccurrence::in_chain);
  });
  return ran ? std::optional(std::move(occurs)) : std::nullopt;
}

}  // namespace hybridscope
