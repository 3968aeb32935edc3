#include "sessions/known_bugs/finding_cause.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/engine/policy_table.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/run/checked_run.h"

namespace hybridscope {
namespace {

struct Candidate {
  const KnownBug* bug = nullptr;  // null: a policy
  PolicyOverrides policies = {};  // the values that it has
};

bool expects(const KnownBug& bug, Rule rule) {
  const auto exhibit = shipped_bug(bug.id);
  if (!exhibit.ok() || !exhibit.value().scenario.expect.findings) return false;
  return std::ranges::any_of(
      *exhibit.value().scenario.expect.findings,
      [rule](const ExpectedFinding& finding) { return finding.rule == rule_info(rule).slug; });
}

class CauseSearch {
 public:
  CauseSearch(const RunPlan& plan, const Finding& finding, std::int64_t most_request_steps)
      : plan_(plan),
        finding_(finding),
        left_(most_request_steps),
        has_(overrides_of(resolve_policies(plan.settings))) {
    for (std::size_t policy = 0; policy < kNumPolicies; ++policy)
      if (has_.values[policy] == policy_table()[policy].safe) has_.values[policy].reset();
  }

  FindingCause find() {
    FindingCause cause = of(bugs());
    return cause.words.empty() ? of(policies()) : cause;
  }

 private:
  // Bugs of one policy first: two change more of the schedule, and the finding may be gone by
  // accident.
  std::vector<Candidate> bugs() const {
    std::vector<Candidate> found;
    for (const KnownBug* bug : bugs_with(resolve_policies(plan_.settings)))
      found.push_back({bug, policies_of(std::span(&bug, 1))});
    std::ranges::stable_sort(found, {},
                             [](const Candidate& one) { return one.bug->values().size(); });
    return found;
  }

  std::vector<Candidate> policies() const {
    std::vector<Candidate> found;
    for (std::size_t policy = 0; policy < kNumPolicies; ++policy) {
      if (!has_.values[policy]) continue;
      Candidate one;
      one.policies.values[policy] = has_.values[policy];
      found.push_back(one);
    }
    return found;
  }

  FindingCause of(const std::vector<Candidate>& candidates) {
    std::vector<const Candidate*> needed;
    for (const Candidate& candidate : candidates)
      if (occurs(without_cause(plan_.settings.policies, candidate.policies)) == false)
        needed.push_back(&candidate);
    if (needed.empty()) return {};
    const Candidate* cause = needed.front();
    if (needed.size() > 1)
      for (const Candidate* candidate : needed)
        if (occurs(cause_alone(candidate->policies)) == true) {
          cause = candidate;
          break;
        }
    for (const Candidate* candidate : needed)
      if (is_narrower(*candidate, *cause)) cause = candidate;
    return left_ < 0 ? FindingCause() : with_all_like(*cause, needed);
  }

  // Does the candidate have the policies of `other` and one more, each of which the finding needs?
  bool is_narrower(const Candidate& candidate, const Candidate& other) {
    if (candidate.bug == nullptr || candidate.bug->values().size() < 2) return false;
    bool has_those_of_other = true;
    for (std::size_t policy = 0; policy < kNumPolicies; ++policy)
      if (const auto& value = other.policies.values[policy])
        has_those_of_other = has_those_of_other && candidate.policies.values[policy] == value;
    if (!has_those_of_other || candidate.policies == other.policies) return false;
    return std::ranges::all_of(candidate.bug->values(), [this](const PolicyValue& value) {
      return occurs(without_cause(plan_.settings.policies, {value})) == false;
    });
  }

  // Bugs of the same policies cannot be told apart.
  FindingCause with_all_like(const Candidate& cause,
                             const std::vector<const Candidate*>& needed) const {
    if (cause.bug == nullptr) return {policy_words(cause)};
    std::vector<const KnownBug*> bugs;
    for (const Candidate* candidate : needed)
      if (candidate->policies == cause.policies) bugs.push_back(candidate->bug);
    bugs = likely_bugs(bugs, finding_.rule);
    return {bug_cause_words(bugs), bugs.front()};
  }

  // Does the finding, or one like it about the same request, occur up to its step? Empty: the plan
  // cannot run so, or too much has been run.
  std::optional<bool> occurs(const PolicyOverrides& policies) {
    RunPlan plan = plan_;
    plan.settings.policies = policies;
    auto setup = make_engine_setup(plan.setup.layout.model, plan.settings);
    if (!setup.ok()) return std::nullopt;
    plan.setup = std::move(setup).value();
    auto created = CheckedRun::create(std::move(plan));
    if (!created.ok()) return std::nullopt;
    CheckedRun& run = created.value();
    while (!run.has_ended() && run.num_steps() < finding_.step) {
      const auto step = run.step();
      if (!step.ok()) return std::nullopt;
      left_ -= static_cast<std::int64_t>(step.value().trace.rows.size()) + 1;
      if (left_ < 0) return std::nullopt;
      for (const Finding& seen : step.value().findings)
        if (seen.rule == finding_.rule && seen.detail == finding_.detail &&
            seen.request == finding_.request)
          return true;
    }
    return false;
  }

  static std::string policy_words(const Candidate& candidate) {
    for (std::size_t policy = 0; policy < kNumPolicies; ++policy) {
      if (!candidate.policies.values[policy]) continue;
      PolicyValue value;
      value.policy = policy;
      value.value = *candidate.policies.values[policy];
      return fmt::format("policy {} = {}", policy_name(value), value_name(value));
    }
    return {};
  }

  const RunPlan& plan_;
  const Finding& finding_;
  std::int64_t left_;
  PolicyOverrides has_;  // values that profile safe does not have
};

}  // namespace

std::vector<const KnownBug*> likely_bugs(std::span<const KnownBug* const> bugs, Rule rule) {
  std::vector<const KnownBug*> likely(bugs.begin(), bugs.end());
  if (bugs.size() < 2) return likely;
  std::erase_if(likely, [rule](const KnownBug* bug) { return !expects(*bug, rule); });
  if (likely.empty()) likely.assign(bugs.begin(), bugs.end());
  return likely;
}

std::string bug_cause_words(std::span<const KnownBug* const> bugs) {
  std::string text;
  for (const KnownBug* bug : bugs) {
    const std::string number = bug_number(*bug);
    text += fmt::format("{}known bug {}{}{}", text.empty() ? "" : ", or ", number,
                        number.empty() ? "" : ", ", bug->id);
  }
  return text;
}

FindingCause find_cause(const RunPlan& plan, const Finding& finding,
                        std::int64_t most_request_steps) {
  return CauseSearch(plan, finding, most_request_steps).find();
}

}  // namespace hybridscope
