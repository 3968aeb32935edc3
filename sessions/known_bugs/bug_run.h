// A known bug's scenario run twice, the faulty run and the healthy run, with both results.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/run/finding_list.h"
#include "sessions/run/run_summary.h"
#include "sessions/run/spoken_words.h"
#include "sessions/run/step_judge.h"
#include "sessions/scenario/scenario.h"

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

// One run. `language` runs on its decisions; prompts ask the model for something (bug_run.h)
// if its tokens are bytes. Errors: the model or the engine refuses the scenario; the machine's.
Result<BugSide> run_bug_side(Scenario scenario, const LanguageModel& language = {});

// Error: that of run_bug_side.
Result<BugRun> run_bug(const BugExhibit& exhibit, const LanguageModel& language = {});

// How a known bug changes what a language model says: both runs' texts, where they part, and the
// first state that is wrong.

// One request of both runs.
struct SpokenComparison {
  std::string request;
  std::string prompt;
  std::string healthy;
  std::string faulty;
  bool differs = false;
  std::size_t first = 0;       // generated token where they part, or where the shorter one ends
  std::int64_t step = 0;       // that sampled it in the faulty run; 0: it did not
  double mean_divergence = 0;  // KL(lone run || faulty run), nats
  double most_divergence = 0;
};

struct SpokenBug {
  std::vector<SpokenComparison> requests;
  std::string first_wrong;  // the first finding about a state or logits; empty: none is wrong
  std::string reason;       // why no answer is another one; empty: not known
  bool says_something_else() const;
  // "one of 2 requests gives another answer", "a state is wrong, the answers are the same", ...
  std::string verdict() const;
};

// Requires: both sides have texts.
SpokenBug spoken_bug(const BugRun& run);

// The section of docs/known-bugs.md: one row a bug, (id, what it changes).
std::string spoken_bugs_section(std::span<const std::pair<std::string, SpokenBug>> bugs);

// Several lines, each with a newline.
std::string format_spoken_bug(const SpokenBug& bug);
nlohmann::ordered_json spoken_bug_json(const SpokenBug& bug);

// Prompts that ask for something, in place of a scenario's tokens without meaning: so that a wrong
// state becomes a wrong answer of a model that was trained on them
// (scenarios/models/jargon-gdn/README.md).

// `length` bytes: pairs of a letter and a digit, then the question for the last pair's digit, as in
// "#k7b3q0?q="; shorter than 5, what fits of it. Drawn by `key`: the same key and length give the
// same text.
std::string recall_text(std::uint64_t key, std::int32_t length);

// The scenario with such texts, of equal lengths: what prompts share they still share.
Scenario with_recall_prompts(Scenario scenario);

}  // namespace hybridscope
