// The block tables as a person uses them, drawn without a display.
#include <gtest/gtest.h>

#include "tests/gui/gui_driver.h"

namespace hybridscope::test::block_tables_panel_test {
namespace {

class BlockTablesPanel : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create();
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
    driver_->command("file.open " + scenario_path("eviction_under_pressure"));
    driver_->command("run.go_to 6");
    driver_->frames();
  }
  std::int32_t cell_size() const { return driver_->workbench().options().block_tables.cell_size; }
  ItemBox cell(const std::string& mark) const {
    const auto found = driver_->marks().find(mark);
    EXPECT_NE(found, driver_->marks().end()) << mark;
    return found == driver_->marks().end() ? ItemBox{} : found->second;
  }

  std::unique_ptr<GuiDriver> driver_;
};

TEST_F(BlockTablesPanel, CtrlAndTheWheelMakeCellsLargerAndSmaller) {
  driver_->command("block_tables.cell_size 21");
  driver_->frames();
  driver_->hover("cell B 0 0");
  driver_->wheel(1, true);
  EXPECT_EQ(cell_size(), 27);
  driver_->wheel(-1, true);
  EXPECT_EQ(cell_size(), 21);
  driver_->wheel(1);  // without Ctrl the wheel scrolls
  EXPECT_EQ(cell_size(), 21);
}

TEST_F(BlockTablesPanel, TheWheelEndsAtTheLargestAndTheSmallestCell) {
  driver_->hover("cell B 0 0");
  driver_->command("block_tables.cell_size 90");
  for (int i = 0; i < 2; ++i) driver_->wheel(1, true);
  EXPECT_EQ(cell_size(), 100);
  driver_->command("block_tables.cell_size 3");
  for (int i = 0; i < 2; ++i) driver_->wheel(-1, true);
  EXPECT_EQ(cell_size(), 2);
}

// The grid is scrolled so that what was under the mouse still is.
TEST_F(BlockTablesPanel, WhatIsUnderTheMouseStaysThere) {
  driver_ = nullptr;
  driver_ = GuiDriver::create({900, 1000});  // too narrow for six large columns
  driver_->command("file.open " + scenario_path("eviction_under_pressure"));
  driver_->command("run.go_to 6");
  driver_->command("block_tables.cell_size 40");
  driver_->frames();
  driver_->hover("cell B 0 2");
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  for (int i = 0; i < 2; ++i) driver_->wheel(1, true);
  EXPECT_EQ(cell_size(), 64);
  const ItemBox box = cell("cell B 0 2");
  EXPECT_LE(box.min.x, mouse.x);
  EXPECT_GE(box.max.x, mouse.x);
  EXPECT_LE(box.min.y, mouse.y);
  EXPECT_GE(box.max.y, mouse.y);
}

}  // namespace
}  // namespace hybridscope::test::block_tables_panel_test
