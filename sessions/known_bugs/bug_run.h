// A known bug's scenario run twice, the faulty run and the healthy run, with both results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/run/finding_list.h"
#include "sessions/run/language_model.h"
#include "sessions/run/run_summary.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {

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

// One run. `language` runs on its decisions; prompts ask the model for something (recall_prompts.h)
// if its tokens are bytes. Errors: the model or the engine refuses the scenario; the machine's.
Result<BugSide> run_bug_side(Scenario scenario, const LanguageModel& language = {});

// Error: that of run_bug_side.
Result<BugRun> run_bug(const BugExhibit& exhibit, const LanguageModel& language = {});

}  // namespace hybridscope
