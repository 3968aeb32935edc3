// What leads from one panel to another place, clicked.

#include <gtest/gtest.h>

#include "gui/model/shown_plan.h"
#include "tests/gui/gui_driver.h"
#include "tests/gui/model/made_plan.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::jumps_test {
namespace {

class Jumps : public DrivenWindow {
 protected:
  Workbench& workbench() { return driver_->workbench(); }
  std::int64_t step() { return workbench().run()->step(); }
  void show(const std::string& panel) {
    driver_->command("panel.show " + panel);
    driver_->frames(4);
  }
};

// The running state of step 3 is wrong: block 2 holds 6 tokens, left there by the decode of step 2.
TEST_F(Jumps, AFindingLeadsToItsStepAndToTheWriteThatCausedIt) {
  driver_->command("file.open " + scenario_path("steps_without_drafts"));
  driver_->command("edit.engine reference");
  driver_->command("run.end");
  show("findings");
  driver_->click("finding 0");
  EXPECT_EQ(step(), 3);
  EXPECT_EQ(workbench().selection().block, 2);
  EXPECT_EQ(workbench().selection().request_name, "A");
  EXPECT_EQ(workbench().selection().group, 1);
  driver_->click("finding 0 write");
  EXPECT_EQ(step(), 2);
  EXPECT_EQ(workbench().selection().block, 2);
}

TEST_F(Jumps, EveryLinkOfAChainOfWritesIsOne) {
  open("align_boundary_by_accepted_drafts", 2);
  driver_->command("select.cell A 1 0");
  show("state_inspector");
  driver_->click("why Temporal state 2");  // the prefill that it began with
  EXPECT_EQ(step(), 1);
  EXPECT_EQ(workbench().selection().block, 2);
}

TEST_F(Jumps, ALessonIsTakenWithTheMouse) {
  workbench().list_shipped();
  driver_->frames(4);
  driver_->hover("open A request's life in ten steps");  // the list is longer than the window
  driver_->wheel(-8);
  driver_->frames(4);
  driver_->click("open The copies at a block boundary in mode align");
  ASSERT_NE(workbench().lesson(), nullptr);
  driver_->frames(4);
  driver_->click("answer 1");
  driver_->type("3");
  driver_->press(glfw_key(Key::enter));
  EXPECT_EQ(workbench().lesson()->num_right(), 1U);
  driver_->click("lesson next");
  EXPECT_EQ(workbench().lesson()->part_index(), 1U);
  driver_->frames(2);
  driver_->click("lesson previous");
  EXPECT_EQ(workbench().lesson()->part_index(), 0U);
}

TEST_F(Jumps, AScenarioIsOpenedFromTheStartScreen) {
  workbench().list_shipped();
  driver_->frames(4);
  driver_->click("open align boundary by decode");
  ASSERT_NE(workbench().run(), nullptr);
  EXPECT_EQ(step(), 1);
}

TEST_F(Jumps, AStepOfTheListOfDifferencesIsOne) {
  open("align_boundary_by_accepted_drafts", 1);
  driver_->command("edit.accept A 1");
  driver_->command("diff.before_edit");
  show("differences");
  driver_->click("difference 3");
  driver_->frames(4);
  EXPECT_EQ(step(), 3);
}

TEST_F(Jumps, TheListOfDifferencesHasWhatPassesTheFilter) {
  open("align_boundary_by_accepted_drafts", 1);
  driver_->command("edit.accept A 1");
  driver_->command("diff.before_edit");
  show("differences");
  EXPECT_TRUE(driver_->marks().contains("difference 2"));
  driver_->click("filter");
  driver_->type("left run");
  EXPECT_FALSE(driver_->marks().contains("difference 2"));
  EXPECT_TRUE(driver_->marks().contains("difference 4"));
  driver_->command("diff.show_all");
  driver_->frames(2);
  EXPECT_TRUE(driver_->marks().contains("difference 2"));
}

TEST_F(Jumps, AnEditOfAComparedRunLeavesThePanelInFront) {
  open("align_boundary_by_accepted_drafts", 1);
  driver_->command("edit.fork");
  show("next_step");
  driver_->command("edit.accept A 1");
  EXPECT_NE(workbench().comparison(), nullptr);
  EXPECT_TRUE(workbench().view().layout.is_active("next_step"));
}

// Text and State differences in the window, by clicks.

class LanguagePanels : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create({740, 760});
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
    driver_->command("file.open " HYBRIDSCOPE_SOURCE_DIR "/tests/gui/data/speaking.json");
    driver_->command("run.weights " HYBRIDSCOPE_SOURCE_DIR
                     "/tests/golden/numeric/model_qwen3_5_text");
    driver_->command("run.go_to 4");
  }
  Workbench& workbench() { return driver_->workbench(); }
  void show(const std::string& panel) {
    workbench().view().layout = LayoutTree::leaf({panel});
    driver_->frames(3);
  }

  std::unique_ptr<GuiDriver> driver_;
};

TEST_F(LanguagePanels, AClickOnATokenSelectsItAndItsRequest) {
  show("text");
  driver_->click("token 2 of B");
  EXPECT_EQ(workbench().selection().request_name, "B");
  EXPECT_EQ(workbench().options().text.token, 2);
  driver_->click("text of A");
  EXPECT_EQ(workbench().selection().request_name, "A");
}

TEST_F(LanguagePanels, AClickOnACellSelectsTheBlock) {
  show("heat_map");
  driver_->click("heat 3 4");
  EXPECT_EQ(workbench().selection().block, 4);
}

// A step without drafts reads the state after the first token of step 2 (known bug 7).
TEST_F(LanguagePanels, TheFirstWrongStateIsGoneToByAClick) {
  show("heat_map");
  driver_->click("first wrong state");
  EXPECT_EQ(workbench().run()->step(), 3);
  EXPECT_EQ(workbench().selection().block, 4);
}

// The Plan panel, clicked.

class PlanWindow : public DrivenWindow {
 protected:
  void SetUp() override {
    DrivenWindow::SetUp();
    if (driver_ == nullptr) return;
    driver_->leave_pixels_out();
    driver_->command("file.open " + make_plan_file({.folder = folder_.path()}));
    driver_->frames(4);
  }
  const ShownPlan& plan() { return *driver_->workbench().plan_results(); }
  std::string selected() { return plan().view().results[plan().selected().value()].name; }

  TemporaryFolder folder_;
};

// Without a run the plan has the whole window.
TEST_F(PlanWindow, AClickOnADotOrARowSelectsACombination) {
  driver_->click("plan dot mamba_cache_mode=align max_num_seqs=2");
  EXPECT_EQ(selected(), "mamba_cache_mode=align max_num_seqs=2");
  driver_->click("plan row mamba_cache_mode=align max_num_seqs=4");
  EXPECT_EQ(selected(), "mamba_cache_mode=align max_num_seqs=4");
}

TEST_F(PlanWindow, AGoalsButtonChangesTheFront) {
  driver_->click("plan goal concurrency");
  EXPECT_EQ(plan().goals(), "hits,preemptions,lost");
  driver_->click("plan goal steps");
  EXPECT_EQ(plan().goals(), "hits,preemptions,lost,steps");
}

TEST_F(PlanWindow, AHeadingSorts) {
  driver_->click("plan.sort steps");
  EXPECT_EQ(driver_->workbench().options().plan.sort, "steps");
}

TEST_F(PlanWindow, TheButtonOpensTheSelectedRunAtItsWorstStepWithThePlanBesideIt) {
  driver_->click("plan dot mamba_cache_mode=align max_num_seqs=4");
  driver_->click("plan open");
  for (int i = 0; i < 200 && driver_->workbench().is_busy(); ++i) driver_->frames(1);
  ASSERT_NE(driver_->workbench().run(), nullptr);
  EXPECT_EQ(driver_->workbench().run()->step(),
            plan().view().results[plan().selected().value()].figures.worst_step);
  driver_->frames(2);
  EXPECT_TRUE(driver_->marks().contains("plan scatter"));
  EXPECT_TRUE(driver_->marks().contains("leaf of block_tables"));
}

TEST_F(PlanWindow, ADoubleClickOnADotOpensItsRunToo) {
  driver_->double_click("plan dot mamba_cache_mode=align max_num_seqs=2");
  for (int i = 0; i < 200 && driver_->workbench().is_busy(); ++i) driver_->frames(1);
  ASSERT_NE(driver_->workbench().run(), nullptr);
  EXPECT_EQ(driver_->workbench().run()->config().max_num_seqs, 2);
}

TEST_F(PlanWindow, ADoubleClickOnTheBlocksOpensTheRunAtThatStep) {
  driver_->double_click("plan memory");
  for (int i = 0; i < 200 && driver_->workbench().is_busy(); ++i) driver_->frames(1);
  ASSERT_NE(driver_->workbench().run(), nullptr);
  EXPECT_GT(driver_->workbench().run()->step(), 1);
}

}  // namespace

}  // namespace hybridscope::test::jumps_test
