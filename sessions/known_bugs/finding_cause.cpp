#include "sessions/known_bugs/finding_cause.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
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
constexpr std::array kMarks = {
    BugMark{"one-token-first-chunk-as-decode",
            [](const BugEvidence& e) { return e.finding.expected == 0; }},
    BugMark{"resumed-tail-runs-as-decode",
            [](const BugEvidence& e) { return e.finding.expected > 0; }},
    BugMark{"padded-prompt-tail-folds-placeholders",
            [](const BugEvidence& e) { return e.num_prompt_tokens > 1; }},
    BugMark{"padded-one-token-prompt-folds-placeholders",
            [](const BugEvidence& e) { return e.num_prompt_tokens == 1; }},
    BugMark{"all-mode-spec-boundary-not-stored",
            [](const BugEvidence& e) { return !is_wrong_read_of_conv(e.finding); }},
    BugMark{"all-mode-conv-anchor-mismatch",
            [](const BugEvidence& e) { return is_wrong_read_of_conv(e.finding); }},
    BugMark{"reset-stale-frame-rolls-back-computed",
            [](const BugEvidence& e) { return !is_lost_frame(e.finding); }},
    BugMark{"reset-discards-later-valid-frames",
            [](const BugEvidence& e) { return is_lost_frame(e.finding); }},
};

bool shows_mark(const KnownBug& bug, const BugEvidence& evidence) {
  const auto mark = std::ranges::find(kMarks, bug.id, &BugMark::id);
  return mark != kMarks.end() && mark->shows(evidence);
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
    if (cause.bug == nullptr) return {policy_words(cause), nullptr, cause.policies};
    std::vector<const KnownBug*> bugs;
    for (const Candidate* candidate : needed)
      if (candidate->policies == cause.policies) bugs.push_back(candidate->bug);
    bugs = likely_bugs(bugs, {.finding = finding_,
                              .num_prompt_tokens = num_prompt_tokens_,
                              .profile = plan_.settings.engine.value_or(EngineProfile::safe),
                              .runner = plan_.setup.config.runner});
    return {bug_cause_words(bugs), bugs.front(), cause.policies};
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
            seen.request == finding_.request) {
          note_prompt(step.value().trace);
          return true;
        }
    }
    return false;
  }

  void note_prompt(const StepTrace& trace) {
    const auto scheduled =
        std::ranges::find(trace.scheduled, finding_.request, &ScheduledTrace::request);
    if (scheduled != trace.scheduled.end()) num_prompt_tokens_ = scheduled->num_prompt_tokens;
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
  std::int32_t num_prompt_tokens_ = 0;  // of the finding's request, once a run has shown it
  PolicyOverrides has_;                 // values that profile safe does not have
};

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

FindingCause find_cause(const RunPlan& plan, const Finding& finding,
                        std::int64_t most_request_steps) {
  return CauseSearch(plan, finding, most_request_steps).find();
}

}  // namespace hybridscope
