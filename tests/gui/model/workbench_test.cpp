#include "gui/model/workbench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/live_run.h"
#include "sessions/lessons/lesson.h"
#include "sessions/scenario/known_bug_table.h"
#include "tests/gui/model/drive.h"
#include "tests/gui/model/faulty_run.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::workbench_test {
namespace {

using test::apply;
using test::settle;
using testing::HasSubstr;

const std::string kScenario = "shipped:align_boundary_by_accepted_drafts";

TEST(Workbench, OpensAtTheFirstStep) {
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  EXPECT_EQ(workbench.run()->step(), 1);
}

TEST(Workbench, WhatCannotBeOpenedLeavesWhatIsOpen) {
  const test::TemporaryFolder folder;
  folder.write("broken.json", "{\"version\": 1, \"model\": 7}");
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  const ShownRun* before = workbench.run();
  for (const std::string& file :
       {folder / "broken.json", folder / "none.db", folder / "no.jsonl"}) {
    EXPECT_FALSE(workbench.apply({"file.open", file}).ok());
    EXPECT_THAT(workbench.notice().text, HasSubstr(file));
    EXPECT_EQ(workbench.notice().kind, NoticeKind::error);
    EXPECT_EQ(workbench.run(), before);
    EXPECT_EQ(workbench.run()->step(), 1);
  }
}

TEST(Workbench, ClosingLeadsToAStartScreenWithAllThatIsShipped) {
  for (const GuiCommand& opens :
       {GuiCommand{"file.open", kScenario}, GuiCommand{"lesson.open", "block_tables"}}) {
    Workbench workbench;
    apply(workbench, opens);
    apply(workbench, {workbench.lesson() != nullptr ? "lesson.close" : "file.close"});
    EXPECT_THAT(workbench.notice().text, HasSubstr("closed"));
    EXPECT_EQ(workbench.start().scenarios.size(), shipped_scenario_names().size());
    EXPECT_EQ(workbench.start().lessons.size(), shipped_lesson_names().size());
    EXPECT_EQ(workbench.start().known_bugs.size(), known_bug_table().size());
  }
}

TEST(Workbench, TheNoticeIsOfTheStepThatIsShown) {
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  EXPECT_THAT(workbench.notice().text, HasSubstr("opened"));
  apply(workbench, {"run.go_to", "3"});
  settle(workbench);
  EXPECT_THAT(workbench.notice().text, HasSubstr("step 3"));
  apply(workbench, {"run.step_back"});
  EXPECT_EQ(workbench.notice().text, "step 2: copies");
  EXPECT_FALSE(workbench.apply({"run.speed", "fast"}).ok());
  EXPECT_EQ(workbench.notice().kind, NoticeKind::error);
  apply(workbench, {"run.step_back"});
  EXPECT_EQ(workbench.notice().text, "step 1");
  apply(workbench, {"run.step_back"});
  EXPECT_EQ(workbench.notice().text, "this is the first step");
}

TEST(Workbench, ASessionWhoseFirstStepCannotBeReadLeavesWhatIsOpen) {
  const test::TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "bad"};
  ASSERT_TRUE(test::record_run(test::shipped_scenario("plain_decode"), {.place = place}).ok());
  test::execute(place.file, "UPDATE rows SET request = 777 WHERE step = 1");
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  apply(workbench, {"run.step"});
  apply(workbench, {"edit.accept", "A 1"});
  apply(workbench, {"select.request", "A"});
  const ShownRun* before = workbench.run();
  EXPECT_FALSE(workbench.apply({"file.open", place.file}).ok());
  EXPECT_EQ(workbench.run(), before);
  EXPECT_EQ(workbench.run()->step(), 2);
  EXPECT_EQ(workbench.selection().request, RequestId{0});
  ASSERT_TRUE(workbench.plans().can_undo());
  EXPECT_EQ(workbench.plans().undo_words(), "accept 1 of A in step 3");
}

TEST(Workbench, PlayingEndsWithTheRun) {
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  apply(workbench, {"run.speed", "5"});
  apply(workbench, {"run.play"});
  settle(workbench);
  EXPECT_TRUE(workbench.run()->is_whole());
  EXPECT_THAT(workbench.notice().text, HasSubstr("the run ends with step"));
}

TEST(Workbench, PlayingKeepsToItsSpeed) {
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  apply(workbench, {"run.speed", "2"});  // four steps a second
  apply(workbench, {"run.play"});
  std::int64_t now = 1;
  const auto clock = [&] { return now; };
  workbench.advance(0, clock);
  EXPECT_EQ(workbench.run()->step(), 2);
  now += 249'999;
  workbench.advance(0, clock);
  EXPECT_EQ(workbench.run()->step(), 2);
  now += 1;
  workbench.advance(0, clock);
  EXPECT_EQ(workbench.run()->step(), 3);
}

TEST(Workbench, WhatCouldNotBeReadOnTheWayIsTold) {
  const test::TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "bad"};
  ASSERT_TRUE(
      test::record_run(test::shipped_scenario("preemption_and_resume"), {.place = place}).ok());
  test::execute(place.file, "UPDATE write_events SET block = 4000 WHERE step = 4");
  Workbench workbench;
  apply(workbench, {"file.open", place.file});
  apply(workbench, {"run.go_to", "5"});
  (void)workbench.run()->block_facts(2);
  workbench.advance(1000, [] { return std::int64_t{0}; });
  EXPECT_EQ(workbench.notice().kind, NoticeKind::warning);
  EXPECT_THAT(workbench.notice().text, HasSubstr("write_events"));
}

TEST(Workbench, ASessionIsSavedUnderTheNameBehindTheColon) {
  const test::TemporaryFolder folder;
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  apply(workbench, {"file.save_session", folder / "runs:one"});
  apply(workbench, {"file.open", folder / "runs.db:one"});
  apply(workbench, {"file.save_session", folder / "others"});
  apply(workbench, {"file.open", folder / "others.db"});
}

TEST(Workbench, SteppingNeverChangesTheSelection) {
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  apply(workbench, {"select.cell", "A 1 0"});
  const Selection before = workbench.selection();
  for (const char* move : {"run.step", "run.step", "run.step_back", "run.start", "run.end"}) {
    apply(workbench, {move});
    settle(workbench);
    EXPECT_EQ(workbench.selection(), before);
  }
}

TEST(Workbench, OfSeveralSessionsInAFileOneIsChosenInTheWindow) {
  const test::TemporaryFolder folder;
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  apply(workbench, {"file.save_session", folder / "runs.db:bad"});
  apply(workbench, {"run.step"});
  apply(workbench, {"file.save_session", folder / "runs.db:good"});
  apply(workbench, {"file.close"});
  ASSERT_TRUE(workbench.apply_in_window({"file.open", folder / "runs.db"}).ok());
  EXPECT_EQ(workbench.run(), nullptr);
  EXPECT_EQ(workbench.view().dialog, Dialog::session);
  ASSERT_EQ(workbench.sessions_to_choose().size(), 2u);
  EXPECT_EQ(workbench.sessions_to_choose()[0].name, "good");
  EXPECT_EQ(workbench.sessions_to_choose()[0].num_steps, 2);
  EXPECT_EQ(workbench.sessions_to_choose()[1].place, folder / "runs.db:bad");
  ASSERT_TRUE(workbench.apply_in_window({"file.open", folder / "runs.db:bad"}).ok());
  EXPECT_EQ(workbench.run()->last_known_step(), 1);
  apply(workbench, {"file.open", folder / "runs.db"});
  EXPECT_EQ(workbench.run()->last_known_step(), 2);
  EXPECT_THAT(workbench.notice().text, HasSubstr("one more session in the file: bad"));
}

TEST(Workbench, AFaultIsToldInABannerAndTheSessionCanBeSaved) {
  const test::TemporaryFolder folder;
  auto run = LiveRun::create(test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                                "/scenarios/plain_decode.json"))
                 .value();
  ASSERT_TRUE(run->go_to(2).ok());
  Workbench workbench;
  workbench.open(std::make_unique<test::FaultyRun>(std::move(run), test::FaultIn::forward));
  EXPECT_FALSE(workbench.apply({"run.step"}).ok());
  EXPECT_THAT(workbench.banner(), HasSubstr("cells: 3 of 2"));
  EXPECT_EQ(workbench.run()->step(), 2);
  apply(workbench, {"file.save_session", folder / "kept.db"});
  apply(workbench, {"view.dismiss_banner"});
  EXPECT_TRUE(workbench.banner().empty());
  apply(workbench, {"run.play"});
  settle(workbench);
  EXPECT_THAT(workbench.banner(), HasSubstr("cells: 3 of 2"));
  EXPECT_FALSE(workbench.is_moving());
}

std::unique_ptr<ShownRun> faulty(test::FaultIn place) {
  auto run = LiveRun::create(test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                                "/scenarios/plain_decode.json"))
                 .value();
  EXPECT_TRUE(run->go_to(2).ok());
  return std::make_unique<test::FaultyRun>(std::move(run), place);
}

TEST(Workbench, AFaultWhileAFileIsReadOnIsToldInABanner) {
  Workbench workbench;
  workbench.open(faulty(test::FaultIn::load_more));
  workbench.advance(1000, [] { return 0; });
  EXPECT_THAT(workbench.banner(), HasSubstr("cells: 3 of 2"));
}

TEST(Workbench, AFaultOfTheOtherRunOfAComparisonIsToldInABanner) {
  Workbench workbench;
  apply(workbench, {"file.open", kScenario});
  ASSERT_TRUE(workbench.compare_with(faulty(test::FaultIn::forward)).ok());
  EXPECT_TRUE(workbench.banner().empty());
  Workbench broken;
  apply(broken, {"file.open", kScenario});
  EXPECT_THROW((void)broken.compare_with(faulty(test::FaultIn::go_to)), ContractViolation);
  apply(broken, {"run.step"});  // to step 2, at which the other run stands
  EXPECT_FALSE(broken.apply({"run.step_back"}).ok());
  EXPECT_THAT(broken.banner(), HasSubstr("cells: 3 of 2"));
}

}  // namespace
}  // namespace hybridscope::workbench_test
