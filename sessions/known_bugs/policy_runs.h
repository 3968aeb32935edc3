// Runs of one plan with some of its policies as profile safe has them: which of the findings that
// are looked for each of them has, and which known bugs that makes likely. The search for causes
// asks them (finding_cause.h).
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/check/finding.h"
#include "core/check/step_checker.h"
#include "core/engine/releases.h"
#include "sessions/run/run_plan.h"
#include "sessions/run/step_judge.h"
#include "sessions/scenario/known_bug_table.h"

namespace hybridscope {

// The work that a search may do for each finding, in request-steps: about a second, several with a
// language model. The findings of one search share it; beyond five it does not grow.
inline constexpr std::int64_t kMostCauseRequestSteps = 400'000;

struct CauseSearchOptions {
  CheckScope scope = CheckScope::step;  // of the run that has the findings
  // The language model of that run: findings that it alone shows are looked for with it.
  LanguageModel language = {};
  std::int64_t most_request_steps = kMostCauseRequestSteps;  // for each finding, of five at most
};

// Settings and script with these policies as profile safe has them, to run without a cause.
void switch_off(const PolicyOverrides& policies, EngineSettings& settings,
                std::vector<ScriptStep>& script);

// Policies by their place in a PolicySet.
using PolicyPlaces = std::bitset<PolicySet::kCapacity>;

// A finding whose cause is looked for, and what the plan's own run shows of it.
struct WantedFinding {
  const Finding* finding = nullptr;
  bool is_shown = false;
  // A finding like it in the steps (after, last] is its chain's; other chains have those around.
  std::int64_t after = 0;
  std::int64_t last = 0;
  std::int32_t num_prompt_tokens = 0;  // of its request; 0: not known

  bool is_in(std::int64_t step) const { return after < step && step <= last; }
};

// Where a run has a finding like a wanted one.
struct FindingOccurrence {
  bool in_chain = false;   // where its chain was
  bool later_too = false;  // there, or in the steps behind it
};

// Does only a language model that runs on the decisions show it?
bool is_of_numbers(const Finding& finding);

class PolicyRuns {
 public:
  // Runs the plan as it is. All arguments must outlive this object. With the language model if one
  // of the findings shows in its numbers only.
  PolicyRuns(const RunPlan& plan, std::span<const Finding> findings,
             const CauseSearchOptions& options);

  const std::vector<WantedFinding>& wanted() const { return wanted_; }
  // What all runs together may cost.
  std::int64_t most_request_steps() const { return most_; }
  // Did they cost more?
  bool is_exhausted() const { return left_ < 0; }

  // Is the finding there if these policies are as in profile safe? Empty: the plan cannot run so,
  // or too much has been run.
  std::optional<FindingOccurrence> occurs(std::size_t wanted, const PolicyPlaces& off);

 private:
  using Occurs = std::vector<FindingOccurrence>;  // [wanted]
  struct BySetOrder {
    bool operator()(const PolicyPlaces& a, const PolicyPlaces& b) const {
      return a.to_string() < b.to_string();
    }
  };

  RunPlan plan_without(const PolicyPlaces& off) const;
  template <class Visit>
  bool run(RunPlan plan, std::int64_t last, const Visit& visit);
  void run_as_it_is();
  static void note(WantedFinding& one, const Finding& finding, const StepTrace& trace);
  static void set_steps(WantedFinding& one, std::span<const std::pair<Finding, std::size_t>> seen);
  std::optional<Occurs> run_without(const PolicyPlaces& off);

  const RunPlan& plan_;
  const CauseSearchOptions& options_;
  bool with_language_;
  std::int64_t token_cost_ = 0;
  std::int64_t most_;
  std::int64_t left_;
  std::vector<WantedFinding> wanted_;
  std::map<PolicyPlaces, std::optional<Occurs>, BySetOrder> runs_;
};

// Which of several known bugs that the same policies bring back a finding comes from, and the words
// for it.

// What tells bugs of the same policies apart.
struct BugEvidence {
  const Finding& finding;
  std::int32_t num_prompt_tokens = 0;           // of the finding's request; 0: not known
  EngineProfile profile = EngineProfile::safe;  // of the engine; safe: not known
  ModelRunner runner = ModelRunner::v1;
};

// The bugs that the evidence fits, among bugs that the same policies bring back: the engine's
// release or day has them, what only one of them shows is there, their files expect a finding of
// this rule. Evidence that fits none of them is left out of account.
std::vector<const KnownBug*> likely_bugs(std::span<const KnownBug* const> bugs,
                                         const BugEvidence& evidence);

// "known bug 48, skipped-step-forgets-accepted-count"; "known bug 18, ..., or known bug 19, ...:
// the same policy brings each of them back, and the finding fits each".
std::string bug_cause_words(std::span<const KnownBug* const> bugs);

}  // namespace hybridscope
