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
