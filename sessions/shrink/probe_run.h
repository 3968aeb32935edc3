// Runs a scenario to its end under the checker: finds the first violation of a rule, and what a
// smaller scenario needs to know about the run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "core/check/step_checker.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

// A random decision that no script made: an accepted count, or (method ngram) the length of a draft
// list.
struct Draw {
  enum class Kind : std::uint8_t { accepted, num_drafts };
  Kind kind = Kind::accepted;
  std::int32_t step = 0;
  std::string request;
  std::int32_t count = 0;
  std::int32_t most = 0;  // the largest possible value
  friend bool operator==(const Draw&, const Draw&) = default;
};

struct Violation {
  Finding finding;
  Finding root;         // the first finding of its chain (finding_roots.h); of a warning itself
  std::string request;  // of the root; empty: about none
  std::string text;     // explain_finding
};

// A kind of finding: its rule and the variant of it (Finding::detail).
struct FindingKind {
  Rule rule = Rule::running_state_wrong;
  std::string detail = {};
  friend auto operator<=>(const FindingKind&, const FindingKind&) = default;
  bool is_of(const Finding& finding) const {
    return finding.rule == rule && finding.detail == detail;
  }
};

struct ProbedRun {
  std::optional<Violation> violation;  // the first of the rule that the options want
  // The first violation of the rule in each chain, also of chains that the options do not want.
  std::vector<Violation> chains;
  std::set<std::string> errors_before;  // rule and detail of the errors before it
  std::int64_t num_steps = 0;           // of the whole run
  std::vector<Draw> draws;              // up to the violation
  // Output tokens of each request up to the violation, in the order of the scenario.
  std::vector<std::int32_t> num_output_tokens;
  // The rules of all findings of the run, in order of first occurrence.
  std::vector<ExpectedFinding> found;
  bool stopped = false;  // `go_on` ended the run; the other members hold what was seen so far
};

struct ProbeOptions {
  std::optional<Rule> rule = {};           // empty: any rule of severity error
  std::optional<std::string> detail = {};  // of the finding; distinguishes variants of a rule
  // The violation is one whose chain begins with such a finding, in this step or later, and not
  // about one of these requests ("": about none).
  std::optional<FindingKind> root = {};
  std::int64_t roots_from = 0;
  std::set<std::string> without_roots_of = {};
  CheckScope scope = CheckScope::step;
  std::int64_t max_steps = INT64_MAX;  // a longer run is an error
  std::function<bool()> go_on = {};    // called before each step; may be empty
};

// Errors: what the plan, the engine or the checker refuses; invalid_input for a run of more than
// max_steps steps.
Result<ProbedRun> probe_run(const Scenario& scenario, const ProbeOptions& options);

}  // namespace hybridscope
