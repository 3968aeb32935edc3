// What a language model says with a known bug and without it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/aligned_split_policies.h"
#include "core/model/model_policies.h"
#include "core/numeric/hybrid_model.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/known_bugs/bug_run.h"
#include "sessions/weights/load_model.h"
#include "tests/support/property.h"

namespace hybridscope::bug_run_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

LanguageModel trained_model() {
  auto loaded = load_model(HYBRIDSCOPE_SOURCE_DIR "/scenarios/models/jargon-gdn");
  return {.model = std::make_shared<const HybridModel>(std::move(loaded).value().model)};
}

SpokenBug say(const std::string& id, const LanguageModel& model) {
  const BugExhibit exhibit = shipped_bug(id).value();
  const BugRun run = run_bug(exhibit, model).value();
  EXPECT_TRUE(run.as_declared()) << id;
  return spoken_bug(run);
}

TEST(RecallPrompts, AskForTheDigitOfTheirLastPair) {
  const std::string text = recall_text(1, 12);
  ASSERT_EQ(text.size(), 12U);
  EXPECT_EQ(text[0], '#');
  EXPECT_EQ(text.substr(9), std::string("?") + text[7] + "=");
}

// An odd length has no mark in front; what is too short for a question has only pairs.
TEST(RecallPrompts, HaveTheLengthThatTheyAreGiven) {
  for (std::int32_t length = 1; length < 40; ++length)
    EXPECT_EQ(recall_text(7, length).size(), static_cast<std::size_t>(length));
  EXPECT_EQ(recall_text(7, 5)[2], '?');
  EXPECT_EQ(recall_text(7, 4).find('?'), std::string::npos);
}

TEST(RecallPrompts, KeepWhatPromptsShare) {
  Scenario scenario;
  scenario.requests = {{.id = "A", .prompt = {.tokens = 20, .share = "system", .share_tokens = 8}},
                       {.id = "B", .prompt = {.tokens = 14, .share = "system", .share_tokens = 8}},
                       {.id = "C", .prompt = {.tokens = 30, .share = "A", .share_tokens = 22}}};
  const Scenario asked = with_recall_prompts(scenario);
  EXPECT_EQ(asked.requests[0].prompt.text.size(), 20U);
  EXPECT_EQ(asked.requests[1].prompt.text.substr(0, 8), asked.requests[0].prompt.text.substr(0, 8));
  EXPECT_EQ(asked.requests[2].prompt.share, "A");
  EXPECT_EQ(asked.requests[2].prompt.text.size(), 8U);
}

// The state after 8 tokens is in column 2, and the row reads column 0.
TEST(SpokenBugs, AWrongColumnGivesAnotherAnswer) {
  const SpokenBug bug = say("no-draft-step-reads-column-zero", trained_model());
  EXPECT_EQ(bug.verdict(), "1 of 1 request gives another answer");
  EXPECT_THAT(bug.requests[0].healthy, StartsWith("1.?j=1"));
  EXPECT_EQ(bug.requests[0].first, 4U);
  EXPECT_EQ(bug.requests[0].step, 3);
  EXPECT_GT(bug.requests[0].most_divergence, 1.0);
  EXPECT_THAT(bug.first_wrong, HasSubstr("state-differs: step 3 A row 0"));
}

// Step 2 replays a graph whose columns are those that only the capture wrote: it runs on no block.
TEST(SpokenBugs, AStaleGraphGivesAnotherAnswer) {
  const SpokenBug bug = say("all-mode-metadata-reuse-stale-buffers", trained_model());
  EXPECT_EQ(bug.verdict(), "1 of 1 request gives another answer");
  EXPECT_THAT(bug.requests[0].healthy, StartsWith("3."));
  EXPECT_EQ(bug.requests[0].first, 1U);
  EXPECT_EQ(bug.requests[0].step, 2);
  EXPECT_THAT(bug.first_wrong, HasSubstr("logits-differ: step 2 A row 0"));
}

TEST(SpokenBugs, AWrongBlockThatNobodyHitsChangesNoAnswer) {
  const SpokenBug bug = say("priority-victim-keeps-registered-block", trained_model());
  EXPECT_FALSE(bug.says_something_else());
  EXPECT_THAT(bug.verdict(), HasSubstr("stays in the prefix cache"));
}

// docs/known-bugs.md says what the model says of every bug. One in 14 is run again here;
// HYBRIDSCOPE_TIMES=14 runs all.
TEST(SpokenBugs, ThePageSaysWhatTheModelSays) {
  const LanguageModel model = trained_model();
  const std::size_t every = std::max<std::size_t>(14 / test::num_cases(1), 1);
  std::ifstream file(HYBRIDSCOPE_SOURCE_DIR "/docs/known-bugs.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (std::size_t i = 0; i < known_bug_table().size(); ++i) {
    const std::string id(known_bug_table()[i].id);
    EXPECT_THAT(page, HasSubstr("\n| `" + id + "` | "));
    if (i % every != 0) continue;
    const std::pair<std::string, SpokenBug> bug(id, say(id, model));
    const std::string section = spoken_bugs_section({&bug, 1});
    const std::string row = section.substr(section.rfind('\n', section.size() - 2));
    EXPECT_THAT(page, HasSubstr(row))
        << "hybridscope bugs run --all --state numeric --markdown >> docs/known-bugs.md";
  }
}

// What each known bug's run says went wrong first: the decision behind its first finding.

// The bug's id and how the words begin.
const std::map<std::string, std::string> kDecisions = {
    {"accepted-count-cross-program-race",
     "A's pre-copy takes column 0; its state of 8 tokens is in column 1, left by step 2"},
    {"align-counts-permuted-twice",
     "D runs with the accepted count of P, 1; its own is 3, of step 3"},
    {"all-mode-conv-anchor-mismatch",
     "A runs as a decode and reads column 0; its conv window is in column 1, left by step 2"},
    {"all-mode-spec-boundary-not-stored",
     "A runs as a decode and reads column 0; its conv window is in column 1, left by step 2"},
    {"all-plus-spec-source-column-lost",
     "A runs as a decode and reads column 1; its state of 7 tokens is in column 2, left by step 2"},
    {"backward-copy-suppressed", "A's post-copy of step 2: running = c + q - d = 14 + 4 - 3 = 15"},
    {"chunk-tail-runs-as-decode",
     "A runs as a decode and reads column 0; its state of 10 tokens is in column 1, left by "
     "step 2"},
    {"full-chunk-sorted-before-decode-rows",
     "T runs as a prefill and reads column 0; its state of 6 tokens is in column 1, left by "
     "step 2"},
    {"mid-block-chunk-poisons-slot",
     "A in step 1: the chunk ends at token 3, off the block grid (last boundary: 0)"},
    {"no-draft-step-reads-column-zero",
     "A runs as a decode that is given no accepted count and reads column 0; its state of 8 tokens "
     "is in column 2, left by step 2"},
    {"one-token-first-chunk-as-decode",
     "A runs as a decode although nothing is computed of it, and reads column 0"},
    {"optimistic-length-picks-column", "A's pre-copy: column before = 2 (remembered"},
    {"padded-one-token-prompt-folds-placeholders",
     "B runs as a decode and reads column 0, with 1 token computed; step 3 ran it as a prefill up "
     "to token 3, which leaves only the state after the last"},
    {"padded-prompt-sorted-before-verify-rows",
     "A runs as a prefill and reads column 0; its state of 7 tokens is in column 1, left by "
     "step 2"},
    {"padded-prompt-tail-folds-placeholders",
     "B runs as a decode and reads column 1, with 9 tokens computed; step 4 ran it as a prefill up "
     "to token 12, which leaves only the state after the last"},
    {"padded-prompt-token-overwritten",
     "B runs as a decode and reads column 1, with 9 tokens computed; step 4 ran it as a prefill up "
     "to token 12, which leaves only the state after the last"},
    {"racy-accepted-counts-non-align", "A's accepted count became 1; its own is 3, of step 2"},
    {"reset-stale-frame-rolls-back-computed",
     "A's count of computed tokens fell from 6 to 4 after step 3"},
    {"resumed-tail-runs-as-decode",
     "A runs as a decode and reads column 1; its state of 10 tokens is in column 2, left by "
     "step 3"},
    {"same-step-prefix-hit", "B is admitted with 8 tokens cached; its pre-copy: column before"},
    {"short-tail-sorted-before-spec-decodes",
     "A runs as a prefill and reads column 0; its state of 8 tokens is in column 2, left by "
     "step 2"},
    {"skipped-step-forgets-accepted-count",
     "C's accepted count became 1 when it was skipped in step 3; its own is 2, of step 2"},
    {"stale-accepted-count-on-slot-reuse",
     "A runs with the accepted count of Z, 4; its own is 1, of step 1"},
    {"stale-mamba-state-idx-after-reset", "A's pre-copy: column before = 2 (remembered"},
};

class BugDecisions : public testing::TestWithParam<std::size_t> {};

// The findings of the others name the decision themselves: a metadata array, a block that is
// registered, a hit, a write.
TEST_P(BugDecisions, TheFirstChainBeginsWithTheDecisionBehindIt) {
  const std::string id(known_bug_table()[GetParam()].id);
  const BugSide faulty = run_bug_side(faulty_scenario(shipped_bug(id).value())).value();
  const auto expected = kDecisions.find(id);
  if (faulty.findings.roots().empty()) {
    EXPECT_EQ(id, "returning-request-verifies-placeholders");  // it has a warning only
    return;
  }
  const std::string& decision = faulty.findings.root_words()[0].decision;
  if (expected == kDecisions.end())
    EXPECT_EQ(decision, "");
  else
    EXPECT_THAT(decision, StartsWith(expected->second));
}

INSTANTIATE_TEST_SUITE_P(All, BugDecisions,
                         testing::Range<std::size_t>(0, known_bug_table().size()),
                         [](const auto& place) {
                           std::string name(known_bug_table()[place.param].id);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Files of known bugs.

using nlohmann::json;

constexpr std::string_view kFile = "mid-block-chunk-poisons-slot.json";

json sample() {
  return {{"title", "T"},
          {"upstream", {"vLLM #1"}},
          {"function", "f.py, f"},
          {"users_saw", "U."},
          {"mechanism", {"One.", "Two.", "Three."}},
          {"scenario",
           {{"version", 1},
            {"model", "tiny-mamba2"},
            {"settings", {{"mamba_cache_mode", "align"}, {"block_size", 8}}},
            {"requests", json::array({{{"id", "A"}, {"prompt", 6}}})},
            {"expect", {{"findings", json::array({{{"rule", "label-mismatch"}}})}}}}}};
}

std::string error_of(const json& bug, std::string_view file = kFile) {
  const std::string text = bug.dump();
  const auto parsed = parse_bug({.text = text, .file = file});
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(BugExhibits, HaveWordsAndTheRowOfTheirName) {
  const std::string text = sample().dump();
  const auto bug = parse_bug({.text = text, .file = kFile});
  ASSERT_TRUE(bug.ok()) << bug.error().message;
  EXPECT_EQ(bug.value().bug->number, 1);
  EXPECT_EQ(bug.value().title, "T");
  EXPECT_THAT(bug.value().upstream, testing::ElementsAre("vLLM #1"));
  EXPECT_THAT(bug.value().mechanism, testing::ElementsAre("One.", "Two.", "Three."));
}

TEST(BugExhibits, TheFaultyScenarioSetsThePolicyAndTheHealthyOneExpectsNothing) {
  const std::string text = sample().dump();
  const auto bug = parse_bug({.text = text, .file = kFile}).value();
  PolicyOverrides expected;
  expected.set(AlignedSplit::until_last_cache_position);
  EXPECT_EQ(faulty_scenario(bug).settings.policies, expected);
  EXPECT_EQ(faulty_scenario(bug).expect.findings->size(), 1U);
  EXPECT_EQ(healthy_scenario(bug).settings.policies, PolicyOverrides{});
  EXPECT_TRUE(healthy_scenario(bug).expect.findings->empty());
}

TEST(BugExhibits, AFileOfNoRowIsRefused) {
  EXPECT_THAT(error_of(sample(), "mid-block-chunk-poisons-slots.json"),
              HasSubstr("mid-block-chunk-poisons-slots.json: there is no known bug "
                        "\"mid-block-chunk-poisons-slots\", did you mean "
                        "\"mid-block-chunk-poisons-slot\"?"));
}

TEST(BugExhibits, AMechanismHasThreeSentences) {
  json bug = sample();
  bug["mechanism"] = {"One.", "Two."};
  EXPECT_EQ(error_of(bug),
            "mid-block-chunk-poisons-slot.json: /mechanism: 2 sentences (expected 3)");
}

TEST(BugExhibits, OnlyABugOfTheNewestReleaseHasAReport) {
  json bug = sample();
  bug["report"] = {{"place", "P"}, {"when", "W"}, {"tried", "T"}, {"not_tried", {"N."}}};
  EXPECT_EQ(error_of(bug),
            "mid-block-chunk-poisons-slot.json: /report: the newest release, 0.33.0, does not have "
            "the bug");
  const std::string text = bug.dump();
  const auto parsed = parse_bug({.text = text, .file = "skipped-step-forgets-accepted-count.json"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed.value().report->place, "P");
  EXPECT_THAT(parsed.value().report->not_tried, testing::ElementsAre("N."));
  bug["report"].erase("when");
  EXPECT_THAT(error_of(bug, "skipped-step-forgets-accepted-count.json"),
              HasSubstr("/report: key \"when\" is missing"));
}

TEST(BugExhibits, AScenarioThatExpectsNothingIsRefused) {
  json bug = sample();
  bug["scenario"]["expect"] = {{"findings", "none"}};
  EXPECT_THAT(error_of(bug), HasSubstr("/scenario/expect: expects no finding"));
  bug["scenario"].erase("expect");
  EXPECT_THAT(error_of(bug), HasSubstr("/scenario/expect: expects no finding"));
}

TEST(BugExhibits, AScenarioThatSetsAProfileOrTheBugsPolicyIsRefused) {
  json bug = sample();
  bug["scenario"]["settings"]["engine"] = "reference";
  const auto refused = HasSubstr("/scenario/settings: sets a profile or a policy of the bug");
  EXPECT_THAT(error_of(bug), refused);
  bug = sample();
  bug["scenario"]["settings"]["policies"] = {{"aligned_split", "stops_on_grid"}};
  EXPECT_THAT(error_of(bug), refused);
}

TEST(BugExhibits, AScenarioMaySwitchOnWhatTheBugNeeds) {
  json bug = sample();
  bug["scenario"]["settings"]["policies"] = {{"checkpoint_layers", "mamba2"}};
  const auto parsed = parse_bug({.text = bug.dump(), .file = kFile}).value();
  PolicyOverrides expected;
  expected.set(CheckpointLayers::mamba2);
  EXPECT_EQ(healthy_scenario(parsed).settings.policies, expected);
  expected.set(AlignedSplit::until_last_cache_position);
  EXPECT_EQ(faulty_scenario(parsed).settings.policies, expected);
}

TEST(BugExhibits, WhatIsWrongIsNamedWithItsPlace) {
  json bug = sample();
  bug["titel"] = "T";
  EXPECT_THAT(error_of(bug), HasSubstr("unknown key \"titel\", did you mean \"title\"?"));
  bug = sample();
  bug.erase("users_saw");
  EXPECT_THAT(error_of(bug), HasSubstr("users_saw"));
  bug = sample();
  bug["scenario"]["requests"][0]["prompt"] = 0;
  EXPECT_THAT(error_of(bug), HasSubstr("/scenario/requests/0/prompt"));
}

}  // namespace

}  // namespace hybridscope::bug_run_test
