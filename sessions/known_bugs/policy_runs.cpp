#include "sessions/known_bugs/policy_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/engine/policy_table.h"
#include "core/numeric/hybrid_model.h"
#include "sessions/explain/finding_roots.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"

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

std::int64_t num_parameters(const HybridModel& model) {
  std::int64_t count = 0;
  for (const std::vector<float>& tensor : model.tensors)
    count += static_cast<std::int64_t>(tensor.size());
  return count;
}

}  // namespace

bool is_of_numbers(const Finding& finding) {
  return rule_info(finding.rule).evidence == Evidence::numbers;
}

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

namespace {

bool expects(const KnownBug& bug, Rule rule) {
  const auto exhibit = shipped_bug(bug.id);
  if (!exhibit.ok() || !exhibit.value().scenario.expect.findings) return false;
  return std::ranges::any_of(
      *exhibit.value().scenario.expect.findings,
      [rule](const ExpectedFinding& finding) { return finding.rule == rule_info(rule).slug; });
}

bool is_wrong_read_of_conv(const Finding& finding) {
  return finding.content == ContentKind::conv && (finding.rule == Rule::running_state_wrong ||
                                                  finding.rule == Rule::read_of_unwritten_block);
}

bool is_lost_frame(const Finding& finding) {
  return finding.detail == "appended tokens of a valid frame";
}

// What of bugs with the same policies only one shows.
struct BugMark {
  std::string_view id;
  bool (*shows)(const BugEvidence&);
};
constexpr BugMark kMarks[] = {
    {"one-token-first-chunk-as-decode",
     [](const BugEvidence& e) { return e.finding.expected == 0; }},
    {"resumed-tail-runs-as-decode", [](const BugEvidence& e) { return e.finding.expected > 0; }},
    {"padded-prompt-tail-folds-placeholders",
     [](const BugEvidence& e) { return e.num_prompt_tokens > 1; }},
    {"padded-one-token-prompt-folds-placeholders",
     [](const BugEvidence& e) { return e.num_prompt_tokens == 1; }},
    {"all-mode-spec-boundary-not-stored",
     [](const BugEvidence& e) { return !is_wrong_read_of_conv(e.finding); }},
    {"all-mode-conv-anchor-mismatch",
     [](const BugEvidence& e) { return is_wrong_read_of_conv(e.finding); }},
    {"reset-stale-frame-rolls-back-computed",
     [](const BugEvidence& e) { return !is_lost_frame(e.finding); }},
    {"reset-discards-later-valid-frames",
     [](const BugEvidence& e) { return is_lost_frame(e.finding); }},
};

bool shows_mark(const KnownBug& bug, const BugEvidence& evidence) {
  const auto mark = std::ranges::find(kMarks, bug.id, &BugMark::id);
  return mark != std::end(kMarks) && mark->shows(evidence);
}

}  // namespace

std::vector<const KnownBug*> likely_bugs(std::span<const KnownBug* const> bugs,
                                         const BugEvidence& evidence) {
  std::vector<const KnownBug*> likely(bugs.begin(), bugs.end());
  const auto keep = [&likely](const auto& fits) {
    if (likely.size() > 1 && std::ranges::any_of(likely, fits))
      std::erase_if(likely, [&](const KnownBug* bug) { return !fits(bug); });
  };
  const std::vector<const KnownBug*> of_engine = bugs_of(evidence.profile, evidence.runner);
  keep([&](const KnownBug* bug) { return std::ranges::count(of_engine, bug) > 0; });
  keep([&](const KnownBug* bug) { return shows_mark(*bug, evidence); });
  keep([&](const KnownBug* bug) { return expects(*bug, evidence.finding.rule); });
  return likely;
}

std::string bug_cause_words(std::span<const KnownBug* const> bugs) {
  std::string text;
  for (const KnownBug* bug : bugs) {
    const std::string number = bug_number(*bug);
    text += fmt::format("{}known bug {}{}{}", text.empty() ? "" : ", or ", number,
                        number.empty() ? "" : ", ", bug->id);
  }
  if (bugs.size() > 1)
    text += ": the same policy brings each of them back, and the finding fits each";
  return text;
}

}  // namespace hybridscope
