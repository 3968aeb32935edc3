// A known bug's scenario run twice, the faulty run and the healthy run, with both results.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/run/finding_list.h"
#include "sessions/run/run_summary.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {

struct HybridModel;

struct BugSide {
  Scenario scenario = {};
  RunSummary summary = {};
  FindingList findings = {};
  std::int64_t first_step = 0;            // step of the first finding of severity error; 0: none
  std::string explanation = {};           // that step as explain_step describes it
  std::vector<std::string> unmet = {};    // unmet expectations, one sentence each
  std::optional<SpokenWords> texts = {};  // what a language model said
  // Did every expected finding occur, and no other?
  bool as_declared() const;
};

struct BugRun {
  BugSide faulty;
  BugSide healthy;
  bool as_declared() const { return faulty.as_declared() && healthy.as_declared(); }
};

// A language model that runs on both sides' decisions; null: none. Prompts ask it for something
// (recall_prompts.h) if its tokens are bytes.
using BugModel = std::shared_ptr<const HybridModel>;

// One run. Error: the model or the engine refuses the scenario.
Result<BugSide> run_bug_side(Scenario scenario, const BugModel& model = nullptr);

// Error: that of run_bug_side.
Result<BugRun> run_bug(const BugExhibit& exhibit, const BugModel& model = nullptr);

}  // namespace hybridscope
