#include "gui/model/finding_chains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/recorded_run.h"
#include "gui/model/workbench.h"
#include "tests/gui/model/shown_scenario.h"

namespace hybridscope::finding_chains_test {
namespace {

std::vector<std::string> words_of(const ShownRun& run) {
  std::vector<std::string> words;
  const std::vector<FindingChain> chains = run.finding_log().chains();
  for (std::size_t i = 0; i < chains.size(); ++i) words.push_back(chain_words(chains[i], i));
  return words;
}

// Profile reference: step 3 reads a wrong state; the fifth finding is a warning.
TEST(FindingChains, TheFirstOfAChainSaysHowManyFollow) {
  const auto run = test::reference_at("budget_cuts_drafts_to_zero", 4);
  EXPECT_THAT(words_of(*run), testing::ElementsAre("first, 11 follow", "from 3", "from 3", "from 3",
                                                   "", "from 3", "from 3", "from 3", "from 3",
                                                   "from 3", "from 3", "from 3", "from 3"));
}

TEST(FindingChains, OneFindingFollows) {
  EXPECT_EQ(chain_words({.first = 0, .first_step = 3, .num_following = 1, .num_listed = 1}, 0),
            "first, 1 follows");
  EXPECT_EQ(chain_words({.first = 0, .first_step = 3}, 0), "first");
}

TEST(FindingChains, TheNumberThatFollowsIsOfAllFindingsNotOfTheListedOnes) {
  EXPECT_EQ(chain_words({.first = 0, .first_step = 3, .num_following = 81, .num_listed = 20}, 0),
            "first, 81 follow; 20 of 81 shown");
  EXPECT_EQ(chain_words({.first_step = 3, .num_following = 81, .num_listed = 20}, 7), "from 3");
}

TEST(FindingsNote, SaysFromWhichStepOnStatesCameFromFreshArrays) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "bug:5"}).ok());
  ASSERT_TRUE(workbench.apply({"run.end"}).ok());
  EXPECT_THAT(findings_note(*workbench.run()),
              testing::StartsWith("from step 1 on states were computed from the arrays of each "
                                  "step, not from the stale ones "));
  ASSERT_TRUE(workbench.apply({"file.open", "bug:48"}).ok());
  ASSERT_TRUE(workbench.apply({"run.end"}).ok());
  EXPECT_EQ(findings_note(*workbench.run()), "");
}

// Bug 48: step 4 goes wrong, later steps follow from it.
TEST(FindingChains, TheDecisionBehindAChainIsToldInEveryStep) {
  constexpr const char* kDecision =
      "C's accepted count became 1 when it was skipped in step 3; its own is 2, of step 2";
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "bug:48"}).ok());
  for (const std::int64_t step : {6, 4, 1}) {
    ASSERT_TRUE(workbench.run()->go_to(step).ok());
    EXPECT_EQ(workbench.run()->findings().front().decision, kDecision) << step;
  }
  EXPECT_EQ(workbench.run()->findings().back().decision, "") << "it follows from the first";
}

// Read beside the shown step, one a call.
TEST(FindingChains, ASessionTellsTheDecisionBehindAChainOfAnotherStep) {
  const test::TemporaryFolder folder;
  const std::string file = folder.path() + "/bug.db";
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "bug:48"}).ok());
  ASSERT_TRUE(workbench.run()->go_to(6).ok());
  ASSERT_TRUE(workbench.apply({"file.save_session", file}).ok());
  while (workbench.is_busy()) workbench.advance(1000000, [] { return std::int64_t{0}; });
  auto run = RecordedRun::open({file, ""}).value();
  EXPECT_EQ(run->findings().front().decision, "");
  ASSERT_TRUE(run->load_more());
  EXPECT_EQ(run->findings().front().decision,
            "C's accepted count became 1 when it was skipped in step 3; its own is 2, of step 2");
}

// The running state of step 3 is wrong: the decode of step 2 left it so.
TEST(FindingsPicture, ARowGoesToItsStepAndItsButtonToTheWrite) {
  Workbench workbench(test::panels_named({"findings"}));
  workbench.open(test::reference_at("steps_without_drafts", 3));
  const TableRow row = findings_picture(workbench).tables.at(0).rows.at(0);
  EXPECT_EQ(row.mark, "finding 0");
  EXPECT_EQ(row.clicks.at(0).command, "run.go_to");
  EXPECT_EQ(row.clicks.at(0).argument, "3");
  EXPECT_EQ(row.clicks.at(1).command, "select.finding");
  EXPECT_TRUE(row.is_selected) << "nothing is selected, and step 3 is shown";
  EXPECT_EQ(shown_words(row.cells[1]), "2");
  EXPECT_EQ(row.cells[1].extras->mark, "finding 0 write");
  EXPECT_EQ(row.cells[1].extras->clicks.at(0).argument, "2");
  EXPECT_EQ(shown_words(row.cells[3]), "running-state-wrong");
  EXPECT_EQ(row.cells[3].tone, Tone::error);
  // Where rule and request have no column, the words name them.
  EXPECT_EQ(shown_words(row.cells[5]).find("running-state-wrong"), std::string::npos);
  EXPECT_EQ(row.cells[5].extras->whole.find("running-state-wrong: step 3 A"), 0u);
}

TEST(FindingsPicture, WithoutFindingsItIsASentence) {
  Workbench workbench(test::panels_named({"findings"}));
  workbench.open(test::scenario_at("plain_decode", 1));
  const Picture picture = findings_picture(workbench);
  EXPECT_TRUE(picture.tables.empty());
  EXPECT_EQ(picture.notes.at(0).text, "No finding in the steps so far.");
}

}  // namespace
}  // namespace hybridscope::finding_chains_test
