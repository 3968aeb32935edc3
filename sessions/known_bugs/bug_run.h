// A known bug's scenario run twice, the faulty run and the healthy run, with both results.
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
  std::int64_t first_step = 0;          // step of the first finding of severity error; 0: none
  std::string explanation = {};         // that step as explain_step describes it
  std::vector<std::string> unmet = {};  // unmet expectations, one sentence each
  // Did every expected finding occur, and no other?
  bool as_declared() const;
};

struct BugRun {
  BugSide faulty;
  BugSide healthy;
  bool as_declared() const { return faulty.as_declared() && healthy.as_declared(); }
};

// One run. Error: the model or the engine refuses the scenario.
Result<BugSide> run_bug_side(Scenario scenario);

// Error: that of run_bug_side.
Result<BugRun> run_bug(const BugExhibit& exhibit);

}  // namespace hybridscope
