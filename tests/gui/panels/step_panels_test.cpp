// Metadata, graph padding, chunks, requests and timeline: what a click in them does.
#include <gtest/gtest.h>

#include "gui/keyboard.h"
#include "tests/gui/gui_driver.h"

namespace hybridscope::test::step_panels_test {
namespace {

class StepPanels : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create();
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
  }
  void open(const std::string& scenario, int step, const std::string& panel) {
    driver_->command("file.open " + scenario_path(scenario));
    driver_->command("run.go_to " + std::to_string(step));
    driver_->command("panel.show " + panel);
  }
  Selection selection() const { return driver_->workbench().selection(); }
  const PanelOptions& options() const { return driver_->workbench().options(); }

  std::unique_ptr<GuiDriver> driver_;
};

TEST_F(StepPanels, AClickOnAnArrayShowsItAsAWholeAndAnotherClosesIt) {
  open("graph_padding", 3, "metadata");
  driver_->click("array -1 seq_lens");
  EXPECT_EQ(options().metadata.array, "seq_lens");
  EXPECT_EQ(options().metadata.group, -1);
  driver_->click("metadata.close");
  EXPECT_EQ(options().metadata.array, "");
}

// Row 1 is B, whose state lies in block 8.
TEST_F(StepPanels, AClickOnAnElementSelectsItsRequestAndBlock) {
  open("graph_padding", 3, "metadata");
  driver_->command("metadata.array 1 state_indices_tensor_d");
  driver_->click("element state_indices_tensor_d 1");
  EXPECT_EQ(selection().request, RequestId{1});
  EXPECT_EQ(selection().block, 8);
}

TEST_F(StepPanels, ThePickedGraphIsMarked) {
  open("graph_padding", 3, "graph_padding");
  driver_->frames();
  EXPECT_TRUE(driver_->marks().contains("picked"));
  driver_->command("run.go_to 1");
  driver_->frames();
  EXPECT_FALSE(driver_->marks().contains("picked"));
}

TEST_F(StepPanels, AClickOnAChunkSelectsItsRequest) {
  open("shared_prefix_all", 3, "chunks");
  driver_->click("chunk 2");
  EXPECT_EQ(selection().request, RequestId{2});
  driver_->click("sequence B");
  EXPECT_EQ(selection().request, RequestId{1});
}

TEST_F(StepPanels, AClickOnARowOfTheTableSelectsTheRequest) {
  open("shared_prefix_all", 3, "requests");
  driver_->click("request C");
  EXPECT_EQ(selection().request, RequestId{2});
  driver_->click("requests.sort blocks");
  EXPECT_EQ(options().requests.sort, RequestColumn::blocks);
}

TEST_F(StepPanels, AClickOnACellOfALaneGoesToTheStepAndSelectsTheRequest) {
  open("shared_prefix_all", 4, "timeline");
  driver_->click("lane C 3");
  EXPECT_EQ(driver_->workbench().run()->step(), 3);
  EXPECT_EQ(selection().request, RequestId{2});
}

TEST_F(StepPanels, FewerStepsAreShownWhenZoomedIn) {
  open("shared_prefix_all", 4, "timeline");
  driver_->click("timeline.closer");
  EXPECT_EQ(options().timeline.num_steps, 14);
}

TEST_F(StepPanels, ABreakpointIsTypedSwitchedOffAndRemoved) {
  open("plain_decode", 1, "breakpoints");
  const auto list = [&]() -> const std::vector<Breakpoint>& {
    return driver_->workbench().breakpoints().list();
  };
  driver_->click("breakpoint field");
  driver_->type("step ==");
  driver_->click("breakpoint.add");
  EXPECT_TRUE(list().empty()) << "it was refused, and stays in the field";
  driver_->click("breakpoint field");
  driver_->press(glfw_key(Key::a), true);
  driver_->type("step == 3");
  driver_->click("breakpoint.add");
  ASSERT_EQ(list().size(), 1U);
  driver_->click("breakpoint on 1");
  EXPECT_FALSE(list()[0].enabled);
  driver_->click("breakpoint remove 1");
  EXPECT_TRUE(list().empty());
}

TEST_F(StepPanels, AKnownBugIsFoundByTheFilterAndOpenedByAClick) {
  open("plain_decode", 1, "known_bugs");
  driver_->click("known bugs filter");
  driver_->type("48");
  EXPECT_EQ(options().known_bugs.filter, "48");
  driver_->frames(2);
  driver_->click("bug skipped-step-forgets-accepted-count");
  EXPECT_EQ(driver_->workbench().run()->title(), "skipped-step-forgets-accepted-count");
}

}  // namespace
}  // namespace hybridscope::test::step_panels_test
