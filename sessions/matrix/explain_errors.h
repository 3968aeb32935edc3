// Which known bugs or policies of an engine cause the errors of a scenario.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/matrix/run_cell.h"

namespace hybridscope {

struct Explanation {
  struct Cause {
    std::string cause;  // FindingCause::key
    FindingKind kind;   // of the first finding of the chain that it causes
  };
  std::vector<Cause> causes = {};  // each cause once
  std::vector<FindingKind> unexplained = {};
};

// Runs scenario `index` of the cell again and asks for the cause of each chain of findings
// (find_causes), of the first kMaxExplainedChains. `errors`: those of its run. Unexplained are
// chains without a cause, and errors that are no finding (a run that does not end).
Explanation explain_errors(const MatrixCell& cell, const CellRunOptions& options,
                           std::int64_t index, const std::set<FindingKind>& errors);
inline constexpr std::size_t kMaxExplainedChains = 8;

}  // namespace hybridscope
