#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/finding_chains.h"
#include "gui/model/finding_log.h"
#include "gui/model/known_bugs_model.h"
#include "gui/model/recorded_run.h"
#include "gui/model/workbench.h"
#include "sessions/scenario/known_bug_table.h"
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

constexpr RequestId kA{0};
constexpr RequestId kB{1};

Finding wrong(std::int64_t step, RequestId request, Rule rule = Rule::running_state_wrong) {
  Finding finding;
  finding.rule = rule;
  finding.step = step;
  finding.request = request;
  return finding;
}

FindingLog log_of(const std::vector<Finding>& findings) {
  FindingLog log;
  for (const Finding& finding : findings) log.take(finding, numbered_names());
  return log;
}

TEST(FindingLog, ListsTwentyOfARuleAndCountsAllThatFollow) {
  const FindingLog log = log_of(std::vector<Finding>(82, wrong(4, kA)));
  EXPECT_EQ(log.listed().size(), 20U);
  EXPECT_EQ(log.chains()[0].num_following, 81);
  EXPECT_EQ(log.chains()[0].num_listed, 19);
  EXPECT_EQ(log.chains()[19].first, 0);
  EXPECT_EQ(log.chains()[19].first_step, 4);
}

// B's chain begins after A's 25 findings of the same rule.
TEST(FindingLog, ListsTheBeginningOfAChainBeyondTheFirstTwenty) {
  std::vector<Finding> findings(25, wrong(4, kA));
  findings.push_back(wrong(9, kB));
  const FindingLog log = log_of(findings);
  ASSERT_EQ(log.listed().size(), 21U);
  EXPECT_EQ(log.listed()[20].finding.request, kB);
  EXPECT_EQ(log.chains()[20].first, 20);
}

TEST(FindingLog, AWarningHasNoChain) {
  const FindingLog log = log_of({wrong(4, kA, Rule::drafts_cut)});
  EXPECT_EQ(log.chains()[0].first, -1);
  EXPECT_EQ(log.chains()[0].first_step, 0);
}

TEST(FindingLog, AfterGoingBackOnlyTheStepsUpToThereCount) {
  FindingLog log = log_of({wrong(4, kA), wrong(5, kA), wrong(5, kA), wrong(6, kA)});
  EXPECT_EQ(log.chains()[0].num_following, 3);
  log.forget_after(4);
  EXPECT_EQ(log.listed().size(), 1U);
  EXPECT_EQ(log.chains()[0].num_following, 0);
  log.take(wrong(5, kA), numbered_names());
  EXPECT_EQ(log.chains()[0].num_following, 1);
}

TEST(FindingLog, BeyondItsLimitItSaysAtLeast) {
  EXPECT_FALSE(log_of(std::vector<Finding>(5000, wrong(4, kA))).chains()[0].at_least);
  EXPECT_TRUE(log_of(std::vector<Finding>(5001, wrong(4, kA))).chains()[0].at_least);
}

using testing::Contains;
using testing::HasSubstr;

TEST(KnownBugsModel, ListsTheTable) {
  const auto rows = make_known_bugs_model();
  ASSERT_EQ(rows.size(), known_bug_table().size());
  EXPECT_EQ(rows[0].id, "mid-block-chunk-poisons-slot");
  EXPECT_EQ(rows[0].number, "1");
  EXPECT_EQ(rows[0].v1, "0.24.0 to 0.26.0");
  EXPECT_THAT(rows[0].words, Contains("aligned_split = until_last_cache_position"));
  EXPECT_THAT(rows[0].words, Contains(HasSubstr("Users saw: ")));
}

TEST(KnownBugsModel, TheFilterLooksAtIdsNumbersTitlesAndWords) {
  ASSERT_EQ(make_known_bugs_model("48").size(), 1U);
  EXPECT_EQ(make_known_bugs_model("48")[0].id, "skipped-step-forgets-accepted-count");
  ASSERT_EQ(make_known_bugs_model("BACKWARD-COPY").size(), 1U);
  EXPECT_GT(make_known_bugs_model("accepted count").size(), 2U);
  EXPECT_TRUE(make_known_bugs_model("no such words").empty());
}

TEST(KnownBugsModel, ABugIsOpenedBesideItsHealthyRunInOneCommand) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"bug.open", "48"}).ok());
  EXPECT_EQ(bug_shown_by(workbench.run()), "skipped-step-forgets-accepted-count");
  ASSERT_NE(workbench.comparison(), nullptr);
  EXPECT_EQ(workbench.comparison()->other().title(),
            "skipped-step-forgets-accepted-count (healthy)");
  while (workbench.is_busy()) workbench.advance(1000000, [] { return std::int64_t{0}; });
  EXPECT_EQ(workbench.run()->step(), workbench.comparison()->steps().front().step);
  EXPECT_EQ(workbench.selection().request_name, "C");
  EXPECT_EQ(workbench.notice().text,
            "first difference: step 4, C: rows, copies, metadata, findings, state");
  ASSERT_TRUE(workbench.apply({"run.end"}).ok());
  while (workbench.is_busy()) workbench.advance(1000000, [] { return std::int64_t{0}; });
  EXPECT_FALSE(workbench.run()->findings().empty());
  EXPECT_TRUE(workbench.comparison()->other().findings().empty());
}

// Step 1 differs in whether accepted counts were given; step 3 reads a wrong state of A.
TEST(KnownBugsModel, TheFirstStepThatDiffersIsShownWithTheFirstRequestThatDoes) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"bug.open", "7"}).ok());
  while (workbench.is_busy()) workbench.advance(1000000, [] { return std::int64_t{0}; });
  EXPECT_EQ(workbench.run()->step(), 1);
  EXPECT_EQ(workbench.selection().request_name, "A");
  EXPECT_EQ(
      workbench.notice().text,
      "first difference: step 1: metadata; of a request: step 3, A: metadata, findings, state");
}

// Step 6 of bug 14 and step 1 of bug 54 differ in no request.
TEST(KnownBugsModel, BugsThatBeginToDifferAsAWholeAreOpenedThere) {
  const auto opened = [](const std::string& bug) {
    Workbench workbench;
    EXPECT_TRUE(workbench.apply({"bug.open", bug}).ok());
    while (workbench.is_busy()) workbench.advance(1000000, [] { return std::int64_t{0}; });
    return workbench.run()->step();
  };
  EXPECT_EQ(opened("14"), 6);
  EXPECT_EQ(opened("54"), 1);
}

TEST(KnownBugsModel, EveryBugIsOpenedWithARequestSelected) {
  for (const KnownBugRow& row : make_known_bugs_model()) {
    Workbench workbench;
    ASSERT_TRUE(workbench.apply({"bug.open", row.id}).ok());
    while (workbench.is_busy()) workbench.advance(1000000, [] { return std::int64_t{0}; });
    EXPECT_NE(workbench.selection().request_name, "") << row.id << ": " << workbench.notice().text;
  }
}

// On a thread, while the window stays responsive.
TEST(KnownBugsModel, TheBugBehindTheFirstFindingIsNamedWithoutAClick) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "bug:48"}).ok());
  EXPECT_FALSE(workbench.is_busy()) << "nothing was found yet";
  ASSERT_TRUE(workbench.apply({"run.go_to", "5"}).ok());
  while (workbench.is_busy()) workbench.advance(1000000, [] { return std::int64_t{0}; });
  EXPECT_THAT(std::string(workbench.cause_of(workbench.run()->findings().front())),
              HasSubstr("this is known bug 48, skipped-step-forgets-accepted-count; bug.open"));
  EXPECT_THAT(workbench.notice().text, testing::Not(HasSubstr("known bug")));
}

TEST(KnownBugsModel, TheBugBehindAFindingIsFoundByItsChain) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "bug:48"}).ok());
  ASSERT_TRUE(workbench.apply({"run.go_to", "5"}).ok());
  while (workbench.is_busy()) workbench.advance(1000000, [] { return std::int64_t{0}; });
  ASSERT_FALSE(workbench.run()->findings().empty());
  const auto findings = workbench.run()->findings();
  ASSERT_EQ(findings.back().finding.step, 5);  // it follows from that of step 4
  ASSERT_TRUE(workbench.apply({"select.finding", fmt::format("{}", findings.size())}).ok());
  ASSERT_TRUE(workbench.apply({"select.cause"}).ok());
  EXPECT_EQ(workbench.cause_of(findings.front()),
            "this is known bug 48, skipped-step-forgets-accepted-count; bug.open "
            "skipped-step-forgets-accepted-count shows it beside its healthy run");
  EXPECT_THAT(workbench.notice().text,
              HasSubstr("running-state-wrong in step 4: this is known bug 48"));
}

TEST(KnownBugsModel, OtherRunsShowNone) {
  Workbench workbench;
  EXPECT_EQ(bug_shown_by(workbench.run()), "");
  ASSERT_TRUE(workbench.apply({"file.open", "shipped:plain_decode"}).ok());
  EXPECT_EQ(bug_shown_by(workbench.run()), "");
}

TEST(KnownBugsModel, AnUnknownBugIsRefusedAndLeavesWhatWasOpen) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "shipped:plain_decode"}).ok());
  const Status opened = workbench.apply({"bug.open", "same-step-prefix-hits"});
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message, HasSubstr("did you mean \"same-step-prefix-hit\"?"));
  ASSERT_NE(workbench.run(), nullptr);
  EXPECT_EQ(workbench.run()->title(), "plain decode");
}

TEST(KnownBugsPicture, TheFilterIsACommandAndTheShownBugIsToldInWords) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"bug.filter", "48"}).ok());
  Picture picture = known_bugs_picture(workbench);
  ASSERT_EQ(picture.tables.at(0).rows.size(), 1U);
  EXPECT_EQ(picture.tables[0].note, "1 known bug");
  EXPECT_EQ(picture.tables[0].rows[0].clicks.at(0).command, "bug.open");
  EXPECT_EQ(picture.notes.size(), 1U);
  ASSERT_TRUE(workbench.apply({"bug.open", "48"}).ok());
  ASSERT_TRUE(workbench.apply({"bug.show_all"}).ok());
  picture = known_bugs_picture(workbench);
  EXPECT_EQ(picture.tables.at(0).rows.size(), known_bug_table().size());
  EXPECT_EQ(picture.notes.at(1).text, "skipped-step-forgets-accepted-count");
  EXPECT_TRUE(picture.notes[1].is_heading);
}

}  // namespace

}  // namespace hybridscope::finding_chains_test
