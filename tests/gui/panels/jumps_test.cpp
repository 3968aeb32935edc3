// What leads from one panel to another place, clicked.
#include "tests/gui/driven_window.h"

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

}  // namespace
}  // namespace hybridscope::test::jumps_test
