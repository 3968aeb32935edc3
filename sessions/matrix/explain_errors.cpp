#include "sessions/matrix/explain_errors.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/engine/policy_table.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/matrix/fault_cause.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {
namespace {

using Bugs = std::vector<const KnownBug*>;
using Kinds = std::set<FindingKind>;

// The policies of `of` that differ from profile safe's.
PolicyOverrides not_safe(const Policies& of) {
  PolicyOverrides values = overrides_of(of);
  for (std::size_t policy = 0; policy < kNumPolicies; ++policy)
    if (values.values[policy] == policy_table()[policy].safe) values.values[policy].reset();
  return values;
}

class Explainer {
 public:
  Explainer(const MatrixCell& cell, const CellRunOptions& options, const Bugs& bugs,
            std::int64_t index)
      : cell_(cell),
        options_(options),
        bugs_(bugs),
        index_(index),
        drawn_(drawn_scenario(cell, index, options.seed)) {}

  Status explain_profile(const Kinds& errors);
  Status explain_release(const Kinds& errors);
  Explanation take() { return std::move(explanation_); }

 private:
  Result<Kinds> errors_of(const Scenario& scenario, const Kinds& until) const;
  Result<Kinds> errors_with(const PolicyOverrides& policies, const Kinds& until = {}) const;
  Result<Kinds> errors_of_bug(const KnownBug& bug, const Kinds& until = {}) const;
  Result<bool> is_gone_without(const PolicyOverrides& policies, const FindingKind& kind) const;
  Status explain_together();
  std::string cause_as_run_finds_it(const FindingKind& kind) const;
  Status explain_kind(const FindingKind& kind);
  Result<std::string> bugs_without_which_it_is_gone(const FindingKind& kind) const;
  Result<const KnownBug*> narrower_bug(const KnownBug& bug, const FindingKind& kind) const;
  Result<std::string> policies_without_which_it_is_gone(const FindingKind& kind) const;
  void add(std::string cause, const FindingKind& kind) {
    explanation_.causes.push_back({std::move(cause), kind});
  }

  const MatrixCell& cell_;
  const CellRunOptions& options_;
  const Bugs& bugs_;
  std::int64_t index_;
  Scenario drawn_;
  Explanation explanation_;
};

// Up to the step by which all of `until` have been seen, if there is one.
Result<Kinds> Explainer::errors_of(const Scenario& scenario, const Kinds& until) const {
  auto run = check_scenario_of_cell(cell_, index_, scenario, {.make_backend = {}, .until = until});
  if (!run.ok()) return run.error();
  return std::move(run).value().errors;
}

// In profile safe with these policies.
Result<Kinds> Explainer::errors_with(const PolicyOverrides& policies, const Kinds& until) const {
  return errors_of(scenario_with_policies(cell_, drawn_, policies), until);
}

// In the engine with these policies as in profile safe.
Result<bool> Explainer::is_gone_without(const PolicyOverrides& policies,
                                        const FindingKind& kind) const {
  Scenario scenario = scenario_in_engine(cell_, drawn_, options_);
  for (std::size_t policy = 0; policy < kNumPolicies; ++policy)
    if (policies.values[policy])
      scenario.settings.policies.values[policy] = policy_table()[policy].safe;
  const auto left = errors_of(scenario, {kind});
  if (!left.ok()) return left.error();
  return !left.value().contains(kind);
}

// The errors that the bug alone causes; for a bug with two policies, those that need both.
Result<Kinds> Explainer::errors_of_bug(const KnownBug& bug, const Kinds& until) const {
  auto errors = errors_with(policies_of(Bugs{&bug}), until);
  if (!errors.ok() || errors.value().empty() || bug.values().size() == 1) return errors;
  for (const PolicyValue& value : bug.values()) {
    const KnownBug half{.id = bug.id, .policies = {value}};
    const auto fewer = errors_with(policies_of(Bugs{&half}), until);
    if (!fewer.ok()) return fewer.error();
    for (const FindingKind& kind : fewer.value()) errors.value().erase(kind);
  }
  return errors;
}

Status Explainer::explain_profile(const Kinds& errors) {
  for (const KnownBug* bug : bugs_) {
    const auto found = errors_of_bug(*bug);
    if (!found.ok()) return found.error();
    if (!found.value().empty()) add(std::string(bug->id), *found.value().begin());
  }
  if (!explanation_.causes.empty()) return Ok{};
  for (const FindingKind& kind : errors)
    if (std::string cause = cause_as_run_finds_it(kind); !cause.empty())
      add(std::move(cause), kind);
  if (!explanation_.causes.empty()) return Ok{};
  if (Status together = explain_together(); !together.ok()) return together;
  if (explanation_.causes.empty()) explanation_.unexplained.assign(errors.begin(), errors.end());
  return Ok{};
}

// The cause of the first finding of the kind; empty: that search knows none.
std::string Explainer::cause_as_run_finds_it(const FindingKind& kind) const {
  auto plan = plan_scenario(scenario_in_engine(cell_, drawn_, options_), "matrix");
  if (!plan.ok()) return {};
  auto created = CheckedRun::create(plan.value());
  if (!created.ok()) return {};
  CheckedRun& run = created.value();
  while (!run.has_ended() && run.num_steps() < kMaxMatrixSteps) {
    const auto step = run.step();
    if (!step.ok()) return {};
    for (const Finding& finding : step.value().findings) {
      if (finding.rule != kind.rule || finding.detail != kind.detail) continue;
      const FindingCause cause = find_cause(plan.value(), finding);
      return cause.bug != nullptr ? std::string(cause.bug->id)
                                  : name_of_policies(cause.policies, bugs_);
    }
  }
  return {};
}

// A set of bugs none of which can be left out.
Status Explainer::explain_together() {
  Bugs needed = bugs_;
  auto errors = errors_with(policies_of(needed));
  if (!errors.ok()) return errors.error();
  if (errors.value().empty()) return Ok{};
  for (const KnownBug* bug : bugs_) {
    Bugs fewer = needed;
    std::erase(fewer, bug);
    auto left = errors_with(policies_of(fewer));
    if (!left.ok()) return left.error();
    if (left.value().empty()) continue;
    needed = std::move(fewer);
    errors = std::move(left);
  }
  add(name_of_bugs(needed), *errors.value().begin());
  return Ok{};
}

Status Explainer::explain_release(const Kinds& errors) {
  for (const KnownBug* bug : bugs_) {
    const auto found = errors_of_bug(*bug, errors);
    if (!found.ok()) return found.error();
    for (const FindingKind& kind : errors)
      if (found.value().contains(kind)) add(std::string(bug->id), kind);
  }
  for (const FindingKind& kind : errors) {
    const bool explained = std::ranges::any_of(
        explanation_.causes, [&](const Explanation::Cause& one) { return one.kind == kind; });
    if (explained) continue;
    if (Status explain = explain_kind(kind); !explain.ok()) return explain;
  }
  return Ok{};
}

Status Explainer::explain_kind(const FindingKind& kind) {
  auto cause = bugs_without_which_it_is_gone(kind);
  if (cause.ok() && cause.value().empty()) cause = policies_without_which_it_is_gone(kind);
  if (!cause.ok()) return cause.error();
  if (cause.value().empty())
    explanation_.unexplained.push_back(kind);
  else
    add(std::move(cause).value(), kind);
  return Ok{};
}

// The first bug of one policy that is enough, else as many as are needed. Empty: it is there
// without all of them. Two policies change more of a schedule than one, and an error may be gone by
// accident: bugs of one policy are preferred.
Result<std::string> Explainer::bugs_without_which_it_is_gone(const FindingKind& kind) const {
  Bugs most_policies_first = bugs_;
  std::ranges::stable_sort(most_policies_first, std::ranges::greater(),
                           [](const KnownBug* bug) { return bug->values().size(); });
  for (const KnownBug* bug : bugs_) {
    if (bug->values().size() > 1) continue;
    const auto gone = is_gone_without(policies_of(Bugs{bug}), kind);
    if (!gone.ok()) return gone.error();
    if (!gone.value()) continue;
    const auto narrower = narrower_bug(*bug, kind);
    if (!narrower.ok()) return narrower.error();
    return std::string(narrower.value()->id);
  }
  Bugs needed = bugs_;
  const auto all = is_gone_without(policies_of(needed), kind);
  if (!all.ok()) return all.error();
  if (!all.value()) return std::string();
  for (const KnownBug* bug : most_policies_first) {
    Bugs fewer = needed;
    std::erase(fewer, bug);
    const auto gone = is_gone_without(policies_of(fewer), kind);
    if (!gone.ok()) return gone.error();
    if (gone.value()) needed = std::move(fewer);
  }
  return name_of_bugs(needed);
}

// The bug that needs the policy of `bug` and another one, if the error needs each of them; else
// `bug` itself.
Result<const KnownBug*> Explainer::narrower_bug(const KnownBug& bug,
                                                const FindingKind& kind) const {
  for (const KnownBug* other : bugs_) {
    const std::span<const PolicyValue> values = other->values();
    if (values.size() < 2 || std::ranges::find(values, bug.values()[0]) == values.end()) continue;
    bool needs_each = true;
    for (const PolicyValue& value : values) {
      if (!needs_each || value == bug.values()[0]) continue;
      const KnownBug half{.id = other->id, .policies = {value}};
      const auto gone = is_gone_without(policies_of(Bugs{&half}), kind);
      if (!gone.ok()) return gone.error();
      needs_each = gone.value();
    }
    if (needs_each) return other;
  }
  return &bug;
}

// Empty: it is there with all policies of profile safe too.
Result<std::string> Explainer::policies_without_which_it_is_gone(const FindingKind& kind) const {
  EngineSettings settings = scenario_in_engine(cell_, drawn_, options_).settings;
  PolicyOverrides needed = not_safe(resolve_policies(settings));
  const auto all = is_gone_without(needed, kind);
  if (!all.ok()) return all.error();
  if (!all.value()) return std::string();
  for (std::size_t policy = 0; policy < kNumPolicies; ++policy) {
    if (!needed.values[policy]) continue;
    PolicyOverrides fewer = needed;
    fewer.values[policy].reset();
    const auto gone = is_gone_without(fewer, kind);
    if (!gone.ok()) return gone.error();
    if (gone.value()) needed = fewer;
  }
  return name_of_policies(needed, bugs_);
}

}  // namespace

Result<Explanation> explain_errors(const MatrixCell& cell, const CellRunOptions& options,
                                   const std::vector<const KnownBug*>& bugs, std::int64_t index,
                                   const std::set<FindingKind>& errors) {
  Explainer explainer(cell, options, bugs, index);
  const bool release = options.profile.kind == EngineProfile::Kind::vllm_release;
  if (Status status =
          release ? explainer.explain_release(errors) : explainer.explain_profile(errors);
      !status.ok())
    return status.error();
  return explainer.take();
}

}  // namespace hybridscope
