#include "sessions/shrink/probe_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/finding_roots.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"

namespace hybridscope {
namespace {

const ScriptStep* script_of(const Scenario& scenario, std::int64_t step) {
  const auto found =
      std::lower_bound(scenario.script.begin(), scenario.script.end(), step,
                       [](const ScriptStep& s, std::int64_t wanted) { return s.step < wanted; });
  return found == scenario.script.end() || found->step != step ? nullptr : &*found;
}

bool names(const std::vector<RequestCount>& counts, const std::string& request) {
  return std::ranges::any_of(counts,
                             [&](const RequestCount& count) { return count.request == request; });
}

class Probe {
 public:
  Probe(const Scenario& scenario, const ProbeOptions& options, CheckedRun run)
      : scenario_(scenario),
        options_(options),
        run_(std::move(run)),
        names_(make_names(run_.engine())) {
    probed_.num_output_tokens.assign(scenario.requests.size(), 0);
  }
  Probe(const Probe&) = delete;  // names_ refers to the engine of this object
  Probe& operator=(const Probe&) = delete;

  Result<ProbedRun> run() {
    const auto driven = drive(
        run_, [this](const CheckedStep& step) { take(step); },
        [this] { return options_.go_on && !options_.go_on(); });
    if (!driven.ok()) return driven.error();
    probed_.stopped = driven.value() == Going::stop;
    if (run_.end() == EndReason::step_limit)
      return invalid_input(fmt::format("the run has more than {} steps", options_.max_steps));
    probed_.num_steps = run_.num_steps();
    return std::move(probed_);
  }

 private:
  void take(const CheckedStep& step) {
    const bool before = !probed_.violation;
    for (const Finding& finding : step.findings) add_finding(finding);
    if (!before) return;
    add_draws(step.trace);
    add_outputs(step.trace);
  }
  // Follows the rules by which the engine draws: RowInputs::plan_acceptance,
  // Engine::next_draft_count.
  void add_draws(const StepTrace& trace) {
    const EngineConfig& config = run_.engine().config();
    const ScriptStep* script = script_of(scenario_, trace.step);
    const bool drawn_rate = config.acceptance_rate > 0.0 && config.acceptance_rate < 1.0;
    for (const RowTrace& row : trace.rows) {
      const ScheduledTrace& scheduled = trace.scheduled_of(row);
      const std::string name = run_.engine().name_of(row.request);
      const auto step = static_cast<std::int32_t>(trace.step);
      const bool drafts =
          !scheduled.placeholder_drafts && row.num_computed_tokens >= scheduled.num_prompt_tokens;
      if (!drafts) continue;
      if (draft_lists_vary(config) && (script == nullptr || !names(script->drafts, name)))
        probed_.draws.push_back({.kind = Draw::Kind::num_drafts,
                                 .step = step,
                                 .request = name,
                                 .count = scheduled.num_drafts_offered,
                                 .most = config.num_speculative_tokens});
      if (drawn_rate && scheduled.samples() && scheduled.num_draft_tokens > 0 &&
          (script == nullptr || !names(script->accept, name)))
        probed_.draws.push_back({.kind = Draw::Kind::accepted,
                                 .step = step,
                                 .request = name,
                                 .count = row.num_sampled_tokens,
                                 .most = 1 + scheduled.num_draft_tokens});
    }
  }

  void add_outputs(const StepTrace& trace) {
    for (const RowTrace& row : trace.rows) {
      const std::string& name = run_.engine().name_of(row.request);
      for (std::size_t i = 0; i < scenario_.requests.size(); ++i)
        if (scenario_.requests[i].id == name)
          probed_.num_output_tokens[i] += row.num_sampled_tokens;
    }
  }
  void add_finding(const Finding& finding) {
    const bool is_error = rule_info(finding.rule).severity == Severity::error;
    const std::size_t chain = is_error ? roots_.add(finding) : SIZE_MAX;
    if (breaks_rule(finding)) {
      const Finding& root = is_error ? roots_.roots()[chain].finding : finding;
      const Violation violation{.finding = finding,
                                .root = root,
                                .request = request_of(root),
                                .text = explain_finding(finding, names_)};
      if (!is_error || broken_by_.insert(chain).second) probed_.chains.push_back(violation);
      if (!probed_.violation && is_wanted_root(violation.root)) probed_.violation = violation;
    }
    if (!probed_.violation && is_error)
      probed_.errors_before.insert(
          fmt::format("{} {}", rule_info(finding.rule).slug, finding.detail));
    ExpectedFinding shown;
    shown.rule = rule_info(finding.rule).slug;
    shown.step = static_cast<std::int32_t>(finding.step);
    if (finding.request.value >= 0) shown.request = request_of(finding);
    const auto known = std::ranges::find_if(
        probed_.found, [&](const ExpectedFinding& other) { return other.rule == shown.rule; });
    if (known == probed_.found.end()) {
      probed_.found.push_back(std::move(shown));
      return;
    }
    if (known->step != shown.step) known->step.reset();
    if (known->request != shown.request) known->request.reset();
  }

  bool breaks_rule(const Finding& finding) const {
    if (options_.detail && finding.detail != *options_.detail) return false;
    return options_.rule ? finding.rule == *options_.rule
                         : rule_info(finding.rule).severity == Severity::error;
  }
  bool is_wanted_root(const Finding& root) const {
    return (!options_.root || options_.root->is_of(root)) && root.step >= options_.roots_from &&
           !options_.without_roots_of.contains(request_of(root));
  }
  std::string request_of(const Finding& finding) const {
    return finding.request.value < 0 ? std::string() : names_.request(finding.request);
  }

  const Scenario& scenario_;
  const ProbeOptions& options_;
  CheckedRun run_;
  Names names_;
  FindingRoots roots_;
  std::set<std::size_t> broken_by_;  // chains that break the rule
  ProbedRun probed_;
};

}  // namespace

Result<ProbedRun> probe_run(const Scenario& scenario, const ProbeOptions& options) {
  auto plan = plan_scenario(scenario, "scenario");
  if (!plan.ok()) return plan.error();
  auto run = CheckedRun::create(std::move(plan).value(),
                                {.check = options.scope, .max_steps = options.max_steps});
  if (!run.ok()) return run.error();
  return Probe(scenario, options, std::move(run).value()).run();
}

}  // namespace hybridscope
