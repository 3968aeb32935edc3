// The findings of a run: all are counted, the first ones of each rule are kept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/check/finding.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/finding_roots.h"

namespace hybridscope {

// What the summary of a run, its page and the window say of it in the same words.

// From `step` on, the first one with a stale-persistent-array, states came from fresh arrays:
// without a language model, which runs what the replayed graph reads.
std::string fresh_arrays_words(std::int64_t step);

inline constexpr std::size_t kMaxFindingsShown = 100;  // in all
inline constexpr std::int64_t kMaxFindingsARule = 20;  // per rule, so that no rule hides another

inline constexpr std::size_t kMaxRequestsShown = 20;

// The number of findings of one rule, kept or not.
struct RuleCount {
  std::int64_t found = 0;
  std::int64_t unexpected = 0;  // that the scenario does not expect
};

inline constexpr std::size_t kMaxRootsShown = 10;

struct KeptFinding {
  Finding finding;
  bool expected = false;
  std::size_t root = 0;  // its root in roots(), of severity error only
  bool is_root = false;  // it is the first finding of its root
  std::string text;
  std::string line;  // its text in lists, with what differs only in group and kind of state
                     // (explain_findings); empty: the line of another one tells it
  std::shared_ptr<const nlohmann::ordered_json> json;  // never null
};

// The findings of severity error of one request, kept or not.
struct RequestDamage {
  std::string request;  // its name; empty: findings about no request
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::int64_t found = 0;
  Rule first_rule = Rule::running_state_wrong;
};

// The cause of a chain or warning as it is shown.
struct CauseWords {
  std::string cause = {};      // "known bug 48, skipped-step-forgets-accepted-count"
  std::string not_known = {};  // why no cause is known although there may be one
  // "this is known bug 48, ...", "its cause is not known: the search ends after ..."; may be empty.
  std::string sentence() const;
};

// What is known of a root besides its findings.
struct RootWords {
  std::string decision;  // root_decision(); empty: the finding says it
  CauseWords cause;
  std::int32_t num_prompt_tokens = 0;  // of the finding's request; 0: not known
};

// The first warning of its kind.
struct WarningBeginning {
  FindingRoot chain;
  CauseWords cause;
  std::int64_t unexpected = 0;  // warnings of this kind that the scenario does not expect
};

class FindingList {
 public:
  using Words = std::function<std::string(const Finding&)>;

  // `all_decisions`: do traces have all copy decisions, which accepted counts depend on?
  explicit FindingList(bool all_decisions);
  FindingList() : FindingList(true) {}

  // The findings of a step, which may be none; steps come in order. `expects`: is it expected?
  // An empty function expects none.
  using Expects = std::function<bool(const Finding&)>;
  void add(const StepTrace& trace, std::span<const Finding> findings, const Expects& expects,
           const Names& names);

  // A finding of a recorded run, without the step that it is of; findings come in order. `decide`:
  // the decision behind a root (root_decision), given its request's last warning; asked for roots
  // that are shown.
  using Decide = std::function<std::string(const Finding&, const std::optional<Finding>& warning)>;
  void add_recorded(const Finding& finding, const Names& names, const Decide& decide);

  const RuleCount& count(Rule rule) const { return rules_[static_cast<std::size_t>(rule)]; }
  std::int64_t num_found(Severity severity) const { return sum(severity, &RuleCount::found); }
  std::int64_t num_unexpected(Severity severity) const {
    return sum(severity, &RuleCount::unexpected);
  }

  const OwnCounts& own_counts() const { return roots_.own_counts(); }
  // Chains of findings of severity error, in the order in which they began (finding_roots.h).
  const std::vector<FindingRoot>& roots() const { return roots_.roots(); }
  // [roots()]
  const std::vector<RootWords>& root_words() const { return root_words_; }
  void set_cause(std::size_t root, CauseWords cause) { root_words_[root].cause = std::move(cause); }
  // Without roots: the first warning of each rule and detail, at most kMaxRootsWithCause. Else
  // none.
  std::span<const WarningBeginning> warnings() const;
  // The first warning of each kind, also where there are roots.
  std::span<const WarningBeginning> kinds_of_warnings() const { return warnings_; }
  void set_warning_cause(std::size_t warning, CauseWords cause) {
    warnings_[warning].cause = std::move(cause);
  }
  // From now on the findings of a root's chain, or the warnings of a kind, count as expected.
  // Returns how many of them the scenario did not expect.
  std::int64_t excuse_root(std::size_t root);
  std::int64_t excuse_warning(std::size_t warning);
  // The step with which one goes on: of the first root, or of the first warning without any; 0:
  // nothing was found.
  std::int64_t first_step() const;
  // Sets the causes of the first kMaxRootsWithCause roots, or of the warnings(). `find`: those of
  // all these findings.
  using FindCauses = std::function<std::vector<CauseWords>(std::span<const Finding>)>;
  void find_causes(const FindCauses& find);
  // The first kMaxRootsShown roots with the kept findings of each, then other kept findings; lines
  // with a newline, not indented.
  std::string format_roots() const;
  // "step 4: this is known bug 48, ...": one line a root of which CauseWords say something.
  std::string format_causes() const;
  // One line: a root's decision, cause and number of findings that follow, or the step of its root,
  // are added to the finding's line, which must not be empty.
  std::string text_with_root(const KeptFinding& kept) const;
  // [findings of the last step that had any] where each stands in its chain: "what went
  // wrong first: DECISION", "follows from step 4: DECISION"; "": a warning, or nothing to add.
  std::vector<std::string> last_chain_words() const;
  // The step of the finding's root, its own step if it has none.
  std::int64_t root_step(const KeptFinding& kept) const;
  // [{request, rule, step, decision, cause, following, last_step}], all roots.
  nlohmann::ordered_json roots_json() const;

  // The first kMaxFindingsARule of each rule, in the order found.
  const std::vector<KeptFinding>& kept() const { return kept_; }
  // Errors first, at most kMaxFindingsShown.
  std::vector<const KeptFinding*> shown() const;
  // "label-mismatch: the first 20 of 1,204 are shown": one line for each rule whose findings are
  // not all kept; and fresh_arrays_note(), where there is one.
  std::string format_left_out() const;
  // A language model runs what a replayed graph reads, stale arrays too; nothing else does.
  void set_runs_replays() { runs_replays_ = true; }
  // One sentence, if from some step on states were computed from other arrays than a replayed graph
  // reads; else empty.
  std::string fresh_arrays_note() const;
  // {rule: number found}, only rules with findings.
  nlohmann::ordered_json by_rule() const;

  // One a request, in the order in which they were first wrong.
  const std::vector<RequestDamage>& by_request() const { return damage_; }
  // "  C: 20 findings, steps 4 to 14, first running-state-wrong", one line a request, the first
  // kMaxRequestsShown of them; empty if there is but one finding.
  std::string format_by_request() const;
  // [{request, findings, first_step, last_step, first_rule}], all requests.
  nlohmann::ordered_json by_request_json() const;

 private:
  void add(const Finding& finding, bool expected, const Names& names, const Words& decide);
  std::int64_t sum(Severity severity, std::int64_t RuleCount::*number) const;
  static constexpr std::size_t kNoRoot = static_cast<std::size_t>(-1);
  std::string format_following(std::size_t root) const;
  void tell_lines(const Names& names);
  void note_damage(const Finding& finding, const Names& names);
  void note_warning(const Finding& finding, bool expected);
  std::string warning_cause(const Finding& finding) const;  // CauseWords::sentence

  std::vector<RuleCount> rules_;  // [rule_table()]
  RootTracker roots_;
  std::vector<RootWords> root_words_;
  std::vector<std::string> root_requests_;  // names
  // [roots] unexpected findings of the chain, by rule.
  std::vector<std::map<Rule, std::int64_t>> root_unexpected_;
  std::vector<KeptFinding> kept_;
  std::vector<RequestDamage> damage_;
  std::vector<WarningBeginning> warnings_;
  std::int64_t stale_arrays_step_ = 0;  // the first one with such a finding; 0: none
  bool runs_replays_ = false;
  std::int64_t last_step_ = 0;           // that had findings
  std::vector<std::size_t> last_roots_;  // of its findings; kNoRoot: a warning
  std::vector<std::size_t> damage_of_;   // [request id + 1] place in damage_ + 1; 0: none
};

}  // namespace hybridscope
