// A known bug's scenario run twice, with the bug and without it, and what came of both.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/run/finding_list.h"
#include "sessions/run/run_summary.h"

namespace hybridscope {

struct BugSide {
  Scenario scenario = {};
  RunSummary summary = {};
  FindingList findings = {};
  std::int64_t first_step = 0;          // of the first finding of severity error; 0: there is none
  std::string explanation = {};         // of that step, as explain_step tells it
  std::vector<std::string> unmet = {};  // expectations, one sentence each
  // Every expected finding occurred, and no other.
  bool as_declared() const;
};

struct BugRun {
  BugSide faulty;
  BugSide healthy;
  bool as_declared() const { return faulty.as_declared() && healthy.as_declared(); }
};

// Error: a scenario that the model or the engine refuses.
Result<BugRun> run_bug(const BugExhibit& exhibit);

}  // namespace hybridscope
