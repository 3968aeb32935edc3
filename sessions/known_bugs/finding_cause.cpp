#include "sessions/known_bugs/finding_cause.h"

#include <fmt/core.h>
#include <algorithm>
#include <utility>

#include "core/engine/policy_table.h"
#include "sessions/known_bugs/policy_runs.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// Policies that go on and off together: those of one or more known bugs, or a single one.
struct Candidate {
  PolicyPlaces policies = {};
  std::vector<const KnownBug*> bugs = {};  // empty: a single policy
};

// What a plan can be run without: its known bugs, and its policies one by one. Those of fewer
// policies first: two change more of a schedule, and a finding may be gone by accident.
class Candidates {
 public:
  explicit Candidates(const RunPlan& plan) {
    add_engine(plan.settings, resolve_policies(plan.settings));
    ScriptedPolicies scripted(plan.settings);
    EngineSettings settings = plan.settings;
    for (const ScriptStep& step : plan.script) {
      const auto changed = scripted.change(step);
      if (!changed) continue;
      if (step.engine) settings.engine = step.engine;
      lay_over(settings.policies, step.policies);
      add_engine(settings, *changed);
    }
    std::ranges::stable_sort(bugs_, {}, [](const Candidate& one) { return one.policies.count(); });
    for (const Policy& policy : policy_table())
      if (values_.values[policy.place]) policies_.push_back({PolicyPlaces().set(policy.place), {}});
  }

  const std::vector<Candidate>& bugs() const { return bugs_; }
  const std::vector<Candidate>& policies() const { return policies_; }
  // The values that differ from profile safe.
  const PolicyOverrides& values() const { return values_; }

 private:
  void add_engine(const EngineSettings& settings, const PolicySet& policies) {
    for (const Policy& policy : policy_table()) {
      const std::uint8_t value = policy.value_in(policies);
      if (!values_.values[policy.place] && value != policy.safe)
        values_.values[policy.place] = value;
    }
    const auto of_profile =
        bugs_of(settings.engine.value_or(EngineProfile::safe), resolved_runner(settings));
    for (const KnownBug* bug : bugs_with(policies)) {
      const bool is_set = std::ranges::any_of(bug->values(), [&](const PolicyValue& value) {
        return settings.policies.values[value.place].has_value();
      });
      if (is_set || std::ranges::count(of_profile, bug) > 0) add_bug(*bug);
    }
  }

  void add_bug(const KnownBug& bug) {
    PolicyPlaces policies;
    for (const PolicyValue& value : bug.values()) policies.set(value.place);
    auto known = std::ranges::find(bugs_, policies, &Candidate::policies);
    if (known == bugs_.end()) known = bugs_.insert(bugs_.end(), {policies, {}});
    if (std::ranges::count(known->bugs, &bug) == 0) known->bugs.push_back(&bug);
  }

  std::vector<Candidate> bugs_;
  std::vector<Candidate> policies_;
  PolicyOverrides values_;
};

using Picked = std::vector<const Candidate*>;

PolicyPlaces policies_of(const Picked& picked) {
  PolicyPlaces all;
  for (const Candidate* one : picked) all |= one->policies;
  return all;
}

// How the picked candidates belong to a finding.
enum class Share : std::uint8_t {
  alone,           // one candidate
  together,        // without any one of them it is gone
  each_is_enough,  // it is gone without all of them only
};

class CauseSearch {
 public:
  CauseSearch(const RunPlan& plan, PolicyRuns& runs, std::size_t wanted)
      : plan_(plan), candidates_(plan), runs_(runs), wanted_(wanted) {}

  FindingCause find() {
    const WantedFinding& wanted = runs_.wanted()[wanted_];
    if (!wanted.is_shown && !runs_.is_exhausted())
      return {.not_searched = "the search's own run does not show the finding"};
    for (const auto* of : {&candidates_.bugs(), &candidates_.policies()}) {
      const auto [picked, share] = pick(*of);
      if (!picked.empty() && !runs_.is_exhausted()) return named(picked, share);
    }
    return {};
  }

 private:
  struct Pick {
    Picked candidates = {};
    Share share = Share::alone;
  };

  bool is_gone_without(const PolicyPlaces& off) {
    const auto occurs = runs_.occurs(wanted_, off);
    return occurs && !occurs->in_chain;
  }
  // A bug of two policies is mended by either of them, so each has to be needed.
  bool is_needed(const Candidate& one) {
    if (!is_gone_without(one.policies)) return false;
    if (one.policies.count() == 1) return true;
    for (const Policy& policy : policy_table())
      if (one.policies[policy.place] && !is_gone_without(PolicyPlaces().set(policy.place)))
        return false;
    return true;
  }
  // Is it there with these policies, and with no others of `all`, or else in profile safe? The
  // second is asked for bugs that another's policies hide.
  bool is_there_with(const PolicyPlaces& on, const std::vector<Candidate>& all) {
    PolicyPlaces off;
    for (const Candidate& one : all) off |= one.policies;
    const auto occurs = [&] {
      const auto found = runs_.occurs(wanted_, off & ~on);
      return found && found->later_too;
    };
    if (occurs()) return true;
    for (const Candidate& one : candidates_.policies()) off |= one.policies;
    return occurs();
  }

  Pick pick(const std::vector<Candidate>& all) {
    Picked needed;
    for (const Candidate& one : all)
      if (is_needed(one)) needed.push_back(&one);
    for (const Candidate* one : needed)
      if (is_there_with(one->policies, all)) return {{one}, Share::alone};
    if (needed.size() > 1) return {together(needed, all), Share::together};
    // Nothing is needed, or one thing that does not bring the finding about: others may do so, each
    // of them by itself.
    Picked enough;
    for (const Candidate& one : all)
      if (is_there_with(one.policies, all)) enough.push_back(&one);
    if (enough.size() < 2 || !is_gone_without(policies_of(enough))) {
      if (!needed.empty()) return {needed, Share::alone};
      enough.clear();
      for (const Candidate& one : all) enough.push_back(&one);
      if (!is_gone_without(policies_of(enough))) return {};
    }
    return {fewest(enough, [this](const Picked& off) { return is_gone_without(policies_of(off)); }),
            Share::each_is_enough};
  }

  // The fewest of the needed candidates that bring the finding about.
  Picked together(const Picked& needed, const std::vector<Candidate>& all) {
    if (!is_there_with(policies_of(needed), all)) return needed;
    return fewest(needed, [&](const Picked& on) { return is_there_with(policies_of(on), all); });
  }

  // Leaves out one after the other as long as `holds`, those of most policies first.
  template <class Holds>
  static Picked fewest(Picked picked, const Holds& holds) {
    Picked order(picked.rbegin(), picked.rend());
    for (const Candidate* one : order) {
      Picked fewer = picked;
      std::erase(fewer, one);
      if (!fewer.empty() && holds(fewer)) picked = std::move(fewer);
    }
    return picked;
  }

  FindingCause named(const Picked& picked, Share share) {
    FindingCause cause;
    for (const Candidate* one : picked) {
      if (!cause.words.empty())
        cause.words += share == Share::together ? ", together with " : ", and ";
      cause.words += name(*one, cause);
      for (const Policy& policy : policy_table())
        if (one->policies[policy.place])
          cause.policies.values[policy.place] = candidates_.values().values[policy.place];
    }
    if (picked.size() < 2) return cause;
    cause.words += share == Share::together ? ": without any one of them it is gone"
                                            : ": it is gone only without all of them";
    return cause;
  }

  // Adds the bugs that are named, and their key.
  std::string name(const Candidate& candidate, FindingCause& cause) const {
    if (!cause.key.empty()) cause.key += '+';
    if (candidate.bugs.empty()) {
      const PolicyValue value = value_of(candidate);
      cause.key += fmt::format("{}={}", policy_name(value), value_name(value));
      return fmt::format("policy {} = {}", policy_name(value), value_name(value));
    }
    const WantedFinding& wanted = runs_.wanted()[wanted_];
    const auto likely =
        likely_bugs(candidate.bugs, {.finding = *wanted.finding,
                                     .num_prompt_tokens = wanted.num_prompt_tokens,
                                     .profile = plan_.settings.engine.value_or(EngineProfile::safe),
                                     .runner = plan_.setup.config.runner});
    cause.bugs.push_back(likely);
    for (const KnownBug* bug : likely)
      cause.key += fmt::format("{}{}", bug == likely.front() ? "" : kCauseKeyOr, bug->id);
    return bug_cause_words(likely);
  }

  // The policy and value of a candidate that is a single policy.
  PolicyValue value_of(const Candidate& candidate) const {
    PolicyValue value;
    for (const Policy& policy : policy_table())
      if (candidate.policies[policy.place]) value.place = policy.place;
    value.value = *candidates_.values().values[value.place];
    return value;
  }

  const RunPlan& plan_;
  Candidates candidates_;
  PolicyRuns& runs_;
  std::size_t wanted_;
};

// What a run of the search cannot show; empty: it can.
std::string why_not_shown(const Finding& finding, const CauseSearchOptions& options) {
  switch (rule_info(finding.rule).evidence) {
    case Evidence::decisions: return {};
    case Evidence::numbers:
      return options.language.model != nullptr ? "" : "it shows only while the language model runs";
    case Evidence::bytes:
    case Evidence::memory: return "the search runs without memory in bytes";
  }
  return {};
}

}  // namespace

std::vector<FindingCause> find_causes(const RunPlan& plan, std::span<const Finding> findings,
                                      const CauseSearchOptions& options) {
  std::vector<FindingCause> causes(findings.size());
  for (const bool numeric : {false, true}) {
    std::vector<Finding> wanted;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < findings.size(); ++i) {
      if (is_of_numbers(findings[i]) != numeric) continue;
      causes[i].not_searched = why_not_shown(findings[i], options);
      if (!causes[i].not_searched.empty()) continue;
      wanted.push_back(findings[i]);
      places.push_back(i);
    }
    if (wanted.empty()) continue;
    PolicyRuns runs(plan, wanted, options);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      FindingCause& cause = causes[places[i]];
      cause = CauseSearch(plan, runs, i).find();
      if (!cause.is_known() && runs.is_exhausted())
        cause.not_searched = fmt::format("the search ends after {} request-steps of work",
                                         grouped_number(runs.most_request_steps()));
    }
  }
  return causes;
}

FindingCause find_cause(const RunPlan& plan, const Finding& finding,
                        const CauseSearchOptions& options) {
  return find_causes(plan, std::span(&finding, 1), options).front();
}

std::vector<CauseWords> find_cause_words(const RunPlan& plan, std::span<const Finding> findings,
                                         const CauseSearchOptions& options) {
  std::vector<CauseWords> words;
  for (FindingCause& cause : find_causes(plan, findings, options))
    words.push_back({.cause = std::move(cause.words), .not_known = std::move(cause.not_searched)});
  return words;
}

KnownFindings::KnownFindings(const RunPlan& plan)
    : plan_(plan),
      profile_(plan.settings.engine.value_or(EngineProfile::safe)),
      bugs_(bugs_of(profile_, plan.setup.config.runner)) {}

bool KnownFindings::has(const KnownBug* bug) const {
  return bug != nullptr && std::ranges::find(bugs_, bug) != bugs_.end();
}

// Does the scenario itself set the policies of the bug?
bool KnownFindings::is_set(const KnownBug& bug) const {
  return std::ranges::all_of(bug.values(), [this](const PolicyValue& value) {
    return plan_.settings.policies.values[value.place] == value.value;
  });
}

bool KnownFindings::explains(const FindingCause& cause) {
  bool of_engine = false;
  for (const std::vector<const KnownBug*>& alike : cause.bugs) {
    const bool has_one =
        std::ranges::any_of(alike, [this](const KnownBug* bug) { return has(bug); });
    if (!has_one &&
        std::ranges::none_of(alike, [this](const KnownBug* bug) { return is_set(*bug); }))
      return false;
    of_engine = of_engine || has_one;
  }
  if (!of_engine) return false;
  for (const std::vector<const KnownBug*>& alike : cause.bugs)
    shown_.insert(shown_.end(), alike.begin(), alike.end());
  return true;
}

bool KnownFindings::applies(const ExpectedBug& expected, const KnownBug& bug) const {
  if (!has(&bug)) return false;
  if (!expected.first && !expected.last) return true;
  if (profile_.kind != EngineProfile::Kind::vllm_release) return false;
  return expected.first.value_or(profile_.release) <= profile_.release &&
         profile_.release <= expected.last.value_or(profile_.release);
}

std::vector<std::string> KnownFindings::missing(bool all_searched) const {
  std::vector<std::string> missing;
  for (const ExpectedBug& expected : plan_.expect.known_bugs) {
    const auto found = find_known_bug(expected.id);
    if (!found.ok() || !applies(expected, *found.value())) continue;
    const KnownBug* const bug = found.value();
    if (std::ranges::find(shown_, bug) != shown_.end()) continue;
    missing.push_back(fmt::format(
        "{}, which {} has, is the cause of no finding{}", bug_cause_words(std::span(&bug, 1)),
        engine_profile_name(profile_), all_searched ? "" : " whose cause is known"));
  }
  return missing;
}

}  // namespace hybridscope
