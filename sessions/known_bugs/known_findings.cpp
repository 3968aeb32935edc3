#include "sessions/known_bugs/known_findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sessions/run/checked_run.h"

namespace hybridscope {

KnownFindings::KnownFindings(const RunPlan& plan)
    : plan_(plan),
      profile_(plan.settings.engine.value_or(EngineProfile::safe)),
      bugs_(bugs_of(profile_, plan.setup.config.runner)) {}

bool KnownFindings::has(const KnownBug* bug) const {
  return bug != nullptr && std::ranges::find(bugs_, bug) != bugs_.end();
}

std::string KnownFindings::source(const Finding& finding, const FindingCause& cause) {
  if (has(cause.bug)) {
    shown_.push_back(cause.policies);
    return cause.words;
  }
  if (!cause.words.empty() || bugs_.empty() || !is_gone_without_all(finding)) return {};
  return fmt::format("several known bugs of {} together", engine_profile_name(profile_));
}

bool KnownFindings::applies(const ExpectedBug& expected, const KnownBug& bug) const {
  if (!has(&bug)) return false;
  if (!expected.first && !expected.last) return true;
  if (profile_.kind != EngineProfile::Kind::vllm_release) return false;
  return expected.first.value_or(profile_.release) <= profile_.release &&
         profile_.release <= expected.last.value_or(profile_.release);
}

std::vector<std::string> KnownFindings::missing() const {
  std::vector<std::string> missing;
  for (const ExpectedBug& expected : plan_.expect.known_bugs) {
    const auto found = find_known_bug(expected.id);
    if (!found.ok() || !applies(expected, *found.value())) continue;
    const KnownBug* const bug = found.value();
    if (std::ranges::find(shown_, policies_of(std::span(&bug, 1))) != shown_.end()) continue;
    missing.push_back(fmt::format("{}, which {} has, is the cause of no finding",
                                  bug_cause_words(std::span(&bug, 1)),
                                  engine_profile_name(profile_)));
  }
  return missing;
}

void KnownFindings::run_without_all() {
  RunPlan plan = plan_;
  plan.settings.policies = without_cause(plan.settings.policies, policies_of(bugs_));
  auto setup = make_engine_setup(plan.setup.layout.model, plan.settings);
  if (!setup.ok()) return;
  plan.setup = std::move(setup).value();
  auto created = CheckedRun::create(std::move(plan));
  if (!created.ok()) return;
  std::vector<Finding> findings;
  std::int64_t request_steps = 0;
  for (CheckedRun& run = created.value(); !run.has_ended();) {
    const auto step = run.step();
    if (!step.ok()) return;
    request_steps += static_cast<std::int64_t>(step.value().trace.rows.size()) + 1;
    if (request_steps > kMostCauseRequestSteps) return;
    findings.insert(findings.end(), step.value().findings.begin(), step.value().findings.end());
  }
  without_all_ = std::move(findings);
}

// As find_cause() compares: no finding like it about the same request occurs up to its step.
bool KnownFindings::is_gone_without_all(const Finding& finding) {
  if (!std::exchange(was_run_, true)) run_without_all();
  if (!without_all_) return false;
  return std::ranges::none_of(*without_all_, [&](const Finding& seen) {
    return seen.step <= finding.step && seen.rule == finding.rule &&
           seen.detail == finding.detail && seen.request == finding.request;
  });
}

}  // namespace hybridscope
