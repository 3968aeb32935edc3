#include "sessions/known_bugs/finding_cause.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "core/engine/policy_table.h"
#include "core/numeric/hybrid_model.h"
#include "sessions/explain/finding_roots.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scripted_policies.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

using PolicySet = std::bitset<kNumPolicies>;

struct BySetOrder {
  bool operator()(const PolicySet& a, const PolicySet& b) const {
    return a.to_string() < b.to_string();
  }
};

// A chain is followed for so many steps beyond the finding: without a policy that shapes the
// schedule the same fault may show a little later.
constexpr std::int64_t kStepsBehind = 16;
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

bool is_error(const Finding& finding) {
  return rule_info(finding.rule).severity == Severity::error;
}

std::int64_t num_parameters(const HybridModel& model) {
  std::int64_t count = 0;
  for (const std::vector<float>& tensor : model.tensors)
    count += static_cast<std::int64_t>(tensor.size());
  return count;
}

// A finding whose cause is looked for, and what the plan's own run shows of it.
struct Wanted {
  const Finding* finding = nullptr;
  bool is_shown = false;
  // A finding like it in the steps (after, last] is its chain's; other chains have those around.
  std::int64_t after = 0;
  std::int64_t last = 0;
  std::int32_t num_prompt_tokens = 0;  // of its request; 0: not known

  bool is_in(std::int64_t step) const { return after < step && step <= last; }
};

// Where a run has a finding like a wanted one.
struct Occurrence {
  bool in_chain = false;   // where its chain was
  bool later_too = false;  // there, or in the steps behind it
};

// Runs of one plan without some of its policies: which of the wanted findings each has.
class PolicyRuns {
 public:
  PolicyRuns(const RunPlan& plan, std::span<const Finding> findings,
             const CauseSearchOptions& options)
      : plan_(plan),
        options_(options),
        with_language_(options.language.model != nullptr &&
                       std::ranges::any_of(findings,
                                           [](const Finding& finding) {
                                             return rule_info(finding.rule).evidence ==
                                                    Evidence::numbers;
                                           })),
        left_(options.most_request_steps *
              static_cast<std::int64_t>(std::min(findings.size(), kMaxRootsWithCause))) {
    for (const Finding& finding : findings) wanted_.push_back({.finding = &finding});
    if (with_language_)
      token_cost_ = 1 + num_parameters(*options.language.model) / kParametersARequestStep;
    run_as_it_is();
  }

  const std::vector<Wanted>& wanted() const { return wanted_; }
  bool is_exhausted() const { return left_ < 0; }

  // Is the finding there if these policies are as in profile safe? Empty: the plan cannot run so,
  // or too much has been run.
  std::optional<Occurrence> occurs(std::size_t wanted, const PolicySet& off) {
    if (is_exhausted()) return std::nullopt;
    const auto [known, fresh] = runs_.try_emplace(off);
    if (fresh) known->second = run_without(off);
    if (!known->second) return std::nullopt;
    return (*known->second)[wanted];
  }

 private:
  using Occurs = std::vector<Occurrence>;  // [wanted]

  RunPlan plan_without(const PolicySet& off) const {
    PolicyOverrides left_out;
    for (std::size_t policy = 0; policy < kNumPolicies; ++policy)
      if (off[policy]) left_out.values[policy] = policy_table()[policy].safe;
    RunPlan plan = plan_;
    leave_out(left_out, plan.settings, plan.script);
    return plan;
  }

  // Gives `visit` each step up to `last`; it returns whether to go on. False: the plan cannot run
  // so, or too much has been run.
  template <class Visit>
  bool run(RunPlan plan, std::int64_t last, const Visit& visit) {
    auto setup = make_engine_setup(plan.setup.layout.model, plan.settings);
    if (!setup.ok()) return false;
    plan.setup = std::move(setup).value();
    CheckedRunOptions checks{.check = options_.scope};
    if (with_language_) {
      checks.language = options_.language.model;
      checks.form = options_.language.form;
      checks.make_machine = options_.language.make_machine;
    }
    auto created = CheckedRun::create(std::move(plan), std::move(checks));
    if (!created.ok()) return false;
    CheckedRun& run = created.value();
    while (!run.has_ended()) {
      const auto step = run.step();
      if (!step.ok()) return false;
      const StepTrace& trace = step.value().trace;
      if (trace.step > last) break;
      left_ -= static_cast<std::int64_t>(trace.rows.size()) + 1 +
               token_cost_ * static_cast<std::int64_t>(trace.tokens.size());
      if (is_exhausted()) return false;
      if (!visit(step.value())) break;
    }
    return true;
  }

  void run_as_it_is() {
    std::int64_t last = 0;
    for (const Wanted& one : wanted_) last = std::max(last, one.finding->step + kStepsBehind);
    FindingRoots roots;
    std::vector<std::pair<Finding, std::size_t>> seen;  // with their roots
    run(plan_, last, [&](const CheckedStep& step) {
      for (const Finding& finding : step.findings) {
        seen.emplace_back(finding, is_error(finding) ? roots.add(finding) : SIZE_MAX);
        for (Wanted& one : wanted_) note(one, finding, step.trace);
      }
      return true;
    });
    for (Wanted& one : wanted_)
      if (one.is_shown) set_steps(one, seen);
  }

  static void note(Wanted& one, const Finding& finding, const StepTrace& trace) {
    if (one.is_shown || !is_same(finding, *one.finding)) return;
    one.is_shown = true;
    // A finding of the whole batch is about the prompt that is padded in it, if one is.
    const auto of = std::ranges::find_if(trace.scheduled, [&](const ScheduledTrace& scheduled) {
      return finding.request.value < 0 ? scheduled.placeholder_drafts
                                       : scheduled.request == finding.request;
    });
    if (of != trace.scheduled.end()) one.num_prompt_tokens = of->num_prompt_tokens;
  }

  static void set_steps(Wanted& one, std::span<const std::pair<Finding, std::size_t>> seen) {
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

  std::optional<Occurs> run_without(const PolicySet& off) {
    std::int64_t last = 0;
    for (const Wanted& one : wanted_) last = std::max(last, one.last + kStepsBehindAlone);
    Occurs occurs(wanted_.size());
    const bool ran = run(plan_without(off), last, [&](const CheckedStep& step) {
      for (const Finding& finding : step.findings)
        for (std::size_t i = 0; i < wanted_.size(); ++i)
          if (is_like(finding, *wanted_[i].finding)) {
            occurs[i].later_too = occurs[i].later_too || finding.step > wanted_[i].after;
            occurs[i].in_chain = occurs[i].in_chain || wanted_[i].is_in(finding.step);
          }
      return !std::ranges::all_of(occurs, &Occurrence::in_chain);
    });
    return ran ? std::optional(std::move(occurs)) : std::nullopt;
  }

  const RunPlan& plan_;
  const CauseSearchOptions& options_;
  bool with_language_;
  std::int64_t token_cost_ = 0;
  std::int64_t left_;
  std::vector<Wanted> wanted_;
  std::map<PolicySet, std::optional<Occurs>, BySetOrder> runs_;
};

// Policies that go on and off together: those of one or more known bugs, or a single one.
struct Candidate {
  PolicySet policies = {};
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
    for (std::size_t policy = 0; policy < kNumPolicies; ++policy)
      if (values_.values[policy]) policies_.push_back({PolicySet().set(policy), {}});
  }

  const std::vector<Candidate>& bugs() const { return bugs_; }
  const std::vector<Candidate>& policies() const { return policies_; }
  // The values that differ from profile safe.
  const PolicyOverrides& values() const { return values_; }

 private:
  void add_engine(const EngineSettings& settings, const Policies& policies) {
    const PolicyOverrides has = overrides_of(policies);
    for (std::size_t policy = 0; policy < kNumPolicies; ++policy)
      if (!values_.values[policy] && has.values[policy] != policy_table()[policy].safe)
        values_.values[policy] = has.values[policy];
    const auto of_profile =
        bugs_of(settings.engine.value_or(EngineProfile::safe), resolved_runner(settings));
    for (const KnownBug* bug : bugs_with(policies)) {
      const bool is_set = std::ranges::any_of(bug->values(), [&](const PolicyValue& value) {
        return settings.policies.values[value.policy].has_value();
      });
      if (is_set || std::ranges::count(of_profile, bug) > 0) add_bug(*bug);
    }
  }

  void add_bug(const KnownBug& bug) {
    PolicySet policies;
    for (const PolicyValue& value : bug.values()) policies.set(value.policy);
    auto known = std::ranges::find(bugs_, policies, &Candidate::policies);
    if (known == bugs_.end()) known = bugs_.insert(bugs_.end(), {policies, {}});
    if (std::ranges::count(known->bugs, &bug) == 0) known->bugs.push_back(&bug);
  }

  std::vector<Candidate> bugs_;
  std::vector<Candidate> policies_;
  PolicyOverrides values_;
};

using Picked = std::vector<const Candidate*>;

PolicySet policies_of(const Picked& picked) {
  PolicySet all;
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
    const Wanted& wanted = runs_.wanted()[wanted_];
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

  bool is_gone_without(const PolicySet& off) {
    const auto occurs = runs_.occurs(wanted_, off);
    return occurs && !occurs->in_chain;
  }
  // A bug of two policies is mended by either of them, so each has to be needed.
  bool is_needed(const Candidate& one) {
    if (!is_gone_without(one.policies)) return false;
    if (one.policies.count() == 1) return true;
    for (std::size_t policy = 0; policy < kNumPolicies; ++policy)
      if (one.policies[policy] && !is_gone_without(PolicySet().set(policy))) return false;
    return true;
  }
  // Is it there with these policies, and with no others of `all`, or else in profile safe? The
  // second is asked for bugs that another's policies hide.
  bool is_there_with(const PolicySet& on, const std::vector<Candidate>& all) {
    PolicySet off;
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

  // As few of the needed as bring it about.
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
      for (std::size_t policy = 0; policy < kNumPolicies; ++policy)
        if (one->policies[policy])
          cause.policies.values[policy] = candidates_.values().values[policy];
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
    const Wanted& wanted = runs_.wanted()[wanted_];
    const auto likely =
        likely_bugs(candidate.bugs, {.finding = *wanted.finding,
                                     .num_prompt_tokens = wanted.num_prompt_tokens,
                                     .profile = plan_.settings.engine.value_or(EngineProfile::safe),
                                     .runner = plan_.setup.config.runner});
    cause.bugs.push_back(likely);
    cause.key += likely.front()->id;
    return bug_cause_words(likely);
  }

  // Of a single policy.
  PolicyValue value_of(const Candidate& candidate) const {
    PolicyValue value;
    for (std::size_t policy = 0; policy < kNumPolicies; ++policy)
      if (candidate.policies[policy]) value.policy = policy;
    value.value = *candidates_.values().values[value.policy];
    return value;
  }

  const RunPlan& plan_;
  Candidates candidates_;
  PolicyRuns& runs_;
  std::size_t wanted_;
};

// Findings that the same kind of run shows.
bool needs_language(const Finding& finding) {
  return rule_info(finding.rule).evidence == Evidence::numbers;
}

// What a run of the search cannot show; empty: it can.
std::string why_not_shown(const Finding& finding, const CauseSearchOptions& options) {
  switch (rule_info(finding.rule).evidence) {
    case Evidence::decisions:
      return {};
    case Evidence::numbers:
      return options.language.model != nullptr ? "" : "it shows only while the language model runs";
    case Evidence::bytes:
    case Evidence::memory:
      return "the search runs without memory in bytes";
  }
  return {};
}

}  // namespace

void leave_out(const PolicyOverrides& cause, EngineSettings& settings,
               std::vector<ScriptStep>& script) {
  settings.policies = without_cause(settings.policies, cause);
  for (ScriptStep& step : script)
    for (std::size_t policy = 0; policy < kNumPolicies; ++policy)
      if (cause.values[policy] && step.policies.values[policy])
        step.policies.values[policy] = policy_table()[policy].safe;
}

std::vector<FindingCause> find_causes(const RunPlan& plan, std::span<const Finding> findings,
                                      const CauseSearchOptions& options) {
  std::vector<FindingCause> causes(findings.size());
  for (const bool numeric : {false, true}) {
    std::vector<Finding> wanted;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < findings.size(); ++i) {
      if (needs_language(findings[i]) != numeric) continue;
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
                                         grouped_number(options.most_request_steps));
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

}  // namespace hybridscope
