// A scenario run to its end under the checker, for who asks whether it still breaks a rule: where
// it does so first, and what a smaller scenario could do without.
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

// An accepted count, or (method ngram) the length of a draft list, that a draw decided and no
// script.
struct Draw {
  enum class Kind : std::uint8_t { accepted, num_drafts };
  Kind kind = Kind::accepted;
  std::int32_t step = 0;
  std::string request;
  std::int32_t count = 0;
  std::int32_t most = 0;  // what it could have been
  friend bool operator==(const Draw&, const Draw&) = default;
};

struct Violation {
  Finding finding;
  std::string text;  // explain_finding
};

struct ProbedRun {
  std::optional<Violation> violation;   // the first of the rule
  std::set<std::string> errors_before;  // rule and detail of errors that were found before it
  std::int64_t num_steps = 0;           // of the whole run
  std::vector<Draw> draws;              // up to the violation
  // Output tokens of each request by then, in the order of the scenario.
  std::vector<std::int32_t> num_output_tokens;
  // What the run shows from its first step to its last: each rule that was found, in that order.
  std::vector<ExpectedFinding> found;
  bool stopped = false;  // by `go_on`; everything else says what was seen until then
};

struct ProbeOptions {
  std::optional<Rule> rule = {};           // empty: any of severity error
  std::optional<std::string> detail = {};  // of the finding, which tells variants of a rule apart
  CheckScope scope = CheckScope::step;
  std::int64_t max_steps = INT64_MAX;  // a longer run is refused
  std::function<bool()> go_on = {};    // asked before each step; may be empty
};

// Error: what the plan, the engine or the checker refuses; invalid_input for a run above max_steps.
Result<ProbedRun> probe_run(const Scenario& scenario, const ProbeOptions& options);

}  // namespace hybridscope
