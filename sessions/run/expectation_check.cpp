#include "sessions/run/expectation_check.h"

#include <fmt/format.h>

namespace hybridscope {

ExpectationCheck::ExpectationCheck(const Expectation& expectation) : expectation_(expectation) {
  if (expectation_.findings) seen_.assign(expectation_.findings->size(), 0);
}

bool ExpectationCheck::expects(const Finding& finding, const Names& names) {
  if (!expectation_.findings) return false;
  bool expected = false;
  for (std::size_t i = 0; i < expectation_.findings->size(); ++i) {
    const ExpectedFinding& candidate = (*expectation_.findings)[i];
    if (candidate.rule != rule_info(finding.rule).slug) continue;
    if (candidate.step && *candidate.step != finding.step) continue;
    if (candidate.request &&
        (finding.request.value < 0 || *candidate.request != names.request(finding.request)))
      continue;
    ++seen_[i];
    expected = true;
  }
  return expected;
}

std::vector<std::string> ExpectationCheck::unmet(const RunSummary& summary) const {
  std::vector<std::string> unmet;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i] > 0) continue;
    const ExpectedFinding& missing = (*expectation_.findings)[i];
    unmet.push_back(
        fmt::format("finding {}{}{} did not occur", missing.rule,
                    missing.step ? fmt::format(" at step {}", *missing.step) : "",
                    missing.request ? fmt::format(" of request {}", *missing.request) : ""));
  }
  if (expectation_.steps && *expectation_.steps != summary.steps)
    unmet.push_back(
        fmt::format("expected {} steps, the run took {}", *expectation_.steps, summary.steps));
  if (expectation_.finished && *expectation_.finished != summary.requests_finished)
    unmet.push_back(fmt::format("expected {} finished requests, got {}", *expectation_.finished,
                                summary.requests_finished));
  return unmet;
}

}  // namespace hybridscope
