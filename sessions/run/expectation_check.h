// Holds a run against what its scenario's author said it does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/check/finding.h"
#include "sessions/explain/explain_names.h"
#include "sessions/run/run_summary.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

class ExpectationCheck {
 public:
  explicit ExpectationCheck(const Expectation& expectation);

  // Is the finding one of those expected? Always false when nothing was said about findings.
  bool expects(const Finding& finding, const Names& names);

  // What was expected and did not happen, one sentence each.
  std::vector<std::string> unmet(const RunSummary& summary) const;

 private:
  Expectation expectation_;
  std::vector<std::int64_t> seen_;  // [expected findings]
};

}  // namespace hybridscope
