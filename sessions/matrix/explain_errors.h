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
    std::string cause;  // fault_cause.h
    FindingKind kind;
  };
  std::vector<Cause> causes = {};
  std::vector<FindingKind> unexplained = {};
};

// Runs scenario `index` of the cell again under other policies. `errors`: those of its run with the
// profile and policies of `options`; `bugs`: those of that engine.
//
// Profiles other than a release: the bugs that give an error alone in profile safe (for a bug of
// two policies, an error that neither gives alone); else what `run` would name for the first
// finding of each kind of error (find_cause); else a set of bugs that gives one, none of which can
// be left out.
//
// A release has policies that no known bug is made of, so each kind of error is asked after: the
// bugs that give it alone in profile safe; else the first bug without whose policies the release
// does not give it; else the bugs, or else the policies, without which it does not, none of which
// can be left out.
//
// Errors: those of the backend.
Result<Explanation> explain_errors(const MatrixCell& cell, const CellRunOptions& options,
                                   const std::vector<const KnownBug*>& bugs, std::int64_t index,
                                   const std::set<FindingKind>& errors);

}  // namespace hybridscope
