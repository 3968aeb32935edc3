#include "gui/model/known_bugs_model.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/workbench.h"
#include "sessions/scenario/known_bug_table.h"

namespace hybridscope::known_bugs_model_test {
namespace {

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
}  // namespace hybridscope::known_bugs_model_test
