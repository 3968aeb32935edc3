// What a language model says with a known bug and without it.
#include "sessions/known_bugs/bug_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/numeric/hybrid_model.h"
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

}  // namespace

}  // namespace hybridscope::bug_run_test
