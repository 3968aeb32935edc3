// Panels about one step, clicked as a person would.
#include <gtest/gtest.h>

#include "tests/gui/gui_driver.h"

namespace hybridscope::test::copies_and_rows_test {
namespace {

class CopiesAndRows : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create({1600, 1200});
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
  }
  void open(const std::string& scenario, int step, const std::string& panel) {
    driver_->command("file.open " + scenario_path(scenario));
    driver_->command("run.go_to " + std::to_string(step));
    driver_->command("panel.show " + panel);
    driver_->frames();
  }
  std::string selected() const {
    const RequestId request = driver_->workbench().selection().request;
    return request.value < 0 ? "" : driver_->workbench().run()->names().request(request);
  }

  std::unique_ptr<GuiDriver> driver_;
};

// Two rows of several lines: the second one is whole too.
TEST_F(CopiesAndRows, TheListOfDecisionsIsAsHighAsItsRows) {
  driver_ = nullptr;
  driver_ = GuiDriver::create({1920, 1080});
  open("align_boundary_by_accepted_drafts", 3, "state_copies");
  driver_->frames(4);
  const ItemBox list = driver_->marks().at("copy decisions");
  EXPECT_LE(driver_->marks().at("decision A 1").max.y, list.max.y);
}

// "A before forward: same_column, columns 2 -> 2, bias 0" and its reason: a line is 15 pixels high.
TEST_F(CopiesAndRows, ADecisionTakesTwoLinesWhereItsSentencesHaveRoom) {
  driver_ = nullptr;
  driver_ = GuiDriver::create({1600, 1000});
  open("preemption_and_resume", 6, "state_copies");
  driver_->frames(4);
  const ItemBox row = driver_->marks().at("decision A 0");
  EXPECT_LT(row.max.y - row.min.y, 40);
}

// At 1280 x 800 the sentence about the step's graph has three lines.
TEST_F(CopiesAndRows, TheWordsAboutTheBatchWrap) {
  driver_ = nullptr;
  driver_ = GuiDriver::create({1280, 800});
  open("v2_slots", 4, "batch_rows");
  const ItemBox words = driver_->marks().at("batch words");
  EXPECT_GT(words.max.y - words.min.y, 2 * 15);
}

// The decisions before the forward pass are alike, and fill the list.
TEST_F(CopiesAndRows, InAComparisonTheDecisionThatDiffersIsInView) {
  driver_ = nullptr;
  driver_ = GuiDriver::create({1280, 800});
  driver_->command("bug.open backward-copy-suppressed");
  driver_->command("panel.show state_copies");
  driver_->frames(4);
  const ItemBox list = driver_->marks().at("copy decisions");
  const ItemBox row = driver_->marks().at("decision A 1");
  EXPECT_GE(row.min.y, list.min.y);
  EXPECT_LE(row.max.y, list.max.y);
  EXPECT_LT(driver_->marks().at("detail after sampling").min.y,
            driver_->marks().at("detail before forward").min.y);
}

TEST_F(CopiesAndRows, WhatWasSampledWrapsBesideALongName) {
  driver_ = nullptr;
  driver_ = GuiDriver::create({1280, 800});
  driver_->command("view.scale 150");
  open("skipped_for_a_step", 3, "speculative");
  const ItemBox words = driver_->marks().at("sample A");
  EXPECT_GT(words.max.y - words.min.y, 2 * 22);
}

// Step 4: C and B copy before the forward pass, A and C after sampling.
TEST_F(CopiesAndRows, AClickOnADecisionSelectsItsRequest) {
  open("v2_slots", 4, "state_copies");
  driver_->click("decision B 1");
  EXPECT_EQ(selected(), "B");
}

TEST_F(CopiesAndRows, AClickOnAColumnOfACopySelectsTheCell) {
  open("align_boundary_by_accepted_drafts", 2, "state_copies");
  driver_->click("copy cell 1");
  const Selection& selection = driver_->workbench().selection();
  EXPECT_EQ(selection.group, 1);
  EXPECT_EQ(selection.column, 1);
  EXPECT_EQ(selection.block, 3);
}

TEST_F(CopiesAndRows, AClickOnARowOfDraftsSelectsItsRequest) {
  open("trimmed_draft_lists", 3, "speculative");
  driver_->click("drafts B");
  EXPECT_EQ(selected(), "B");
}

// Cell 0 of the strip is the state that is read, cell 2 that behind the first draft.
TEST_F(CopiesAndRows, AClickOnAStateOfAStripSelectsItsColumn) {
  open("trimmed_draft_lists", 3, "speculative");
  driver_->click("strip A 2");
  const Selection& selection = driver_->workbench().selection();
  EXPECT_EQ(selected(), "A");
  EXPECT_EQ(selection.column, 2);
  EXPECT_EQ(selection.block, 5);
}

TEST_F(CopiesAndRows, ARowOfTheBatchIsSelectedInTheTableAndOnTheAxis) {
  open("v2_slots", 4, "batch_rows");
  driver_->click("row B");
  EXPECT_EQ(selected(), "B");
  driver_->click("axis A");
  EXPECT_EQ(selected(), "A");
}

}  // namespace
}  // namespace hybridscope::test::copies_and_rows_test
