// The block tables as a person uses them, drawn without a display.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "gui/cell_layout.h"
#include "gui/panels/cell_metrics.h"
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

const ImVec2 kFourDigits(29, 12);  // pixels of "1234" in the font of cells

// Everything that can stand in a cell at once.
BlockCell busy_cell() {
  return {.block = 1234,
          .role = CellRole::running,
          .state = CellState::wrong,
          .changed = true,
          .use = {ForwardUse::running, true, true},
          .checkpoint = 24};
}

// What the digits cover: a sixth of the line above and below them is empty.
CellBox digits_of(const CellLayout& layout, ImVec2 text) {
  return {ImVec2(layout.text.x, layout.text.y + text.y / 6),
          ImVec2(layout.text.x + text.x, layout.text.y + text.y * 5 / 6)};
}

bool overlap(const CellBox& a, const CellBox& b) {
  return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y;
}

CellBox around(ImVec2 centre, float radius) {
  return {ImVec2(centre.x - radius, centre.y - radius),
          ImVec2(centre.x + radius, centre.y + radius)};
}

void expect_free_digits(float width, float height) {
  SCOPED_TRACE(testing::Message() << width << " x " << height);
  const CellBox box{ImVec2(100, 50), ImVec2(100 + width, 50 + height)};
  const CellLayout layout = cell_layout(box, busy_cell(), kFourDigits, 1);
  const CellBox digits = digits_of(layout, kFourDigits);
  EXPECT_GE(digits.min.x, box.min.x);
  EXPECT_LE(digits.max.x, box.max.x);
  EXPECT_FALSE(overlap(digits, around(layout.badge, layout.radius)));
  EXPECT_FALSE(overlap(digits, layout.read));
  EXPECT_FALSE(overlap(digits, layout.written));
  EXPECT_FALSE(overlap(digits, around(layout.checkpoint, layout.radius)));
  // The corner is a triangle: at the digits' upper edge it is as wide as it is still high.
  const float side = layout.corner + layout.edge;
  EXPECT_LE(digits.max.x, box.max.x - std::max(side - (digits.min.y - box.min.y), 0.0F) + 1);
}

// 38 x 20 are the cells of "Fit" where ids have four digits, 60 x 20 have room beside the digits.
TEST(CellLayout, NoSignCoversTheDigitsOfAFourDigitId) {
  expect_free_digits(38, 20);
  expect_free_digits(60, 20);
  expect_free_digits(74, 39);
  expect_free_digits(33, 22);
}

TEST(CellLayout, WithoutSignsTheTextIsInTheMiddle) {
  const CellBox box{ImVec2(0, 0), ImVec2(39, 20)};
  const BlockCell plain{.block = 7, .role = CellRole::held, .state = CellState::written};
  const CellLayout layout = cell_layout(box, plain, ImVec2(7, 12), 1);
  EXPECT_EQ(layout.text.x, 16);
  EXPECT_EQ(layout.text.y, 4);
}

TEST(CellLayout, TextGivesWayToTheBadgeBesideIt) {
  const CellBox box{ImVec2(0, 0), ImVec2(46, 20)};
  const BlockCell verified{.block = 1234, .role = CellRole::held, .state = CellState::verified};
  const CellLayout layout = cell_layout(box, verified, kFourDigits, 1);
  EXPECT_LT(layout.text.x + kFourDigits.x, layout.badge.x - layout.radius);
  EXPECT_EQ(layout.text.y, 4);
}

TEST(CellLayout, SignsAreLargerInLargeCells) {
  const BlockCell cell = busy_cell();
  const CellLayout usual = cell_layout({ImVec2(0, 0), ImVec2(60, 21)}, cell, kFourDigits, 1);
  const CellLayout large = cell_layout({ImVec2(0, 0), ImVec2(90, 33)}, cell, kFourDigits, 1);
  EXPECT_FLOAT_EQ(usual.radius, 3.5F);
  EXPECT_FLOAT_EQ(large.radius, 5.5F);
}

// A panel of 800 x 600 pixels, names of 50 pixels.
CellMetrics metrics(std::size_t rows, std::int32_t columns,
                    std::int32_t cell_size = kReadableCells) {
  BlockTableGrid grid;
  grid.num_columns = columns;
  grid.rows.resize(rows);
  return cell_metrics(grid, {.names = 50, .largest_block = 999}, cell_size, Look{},
                      ImVec2(800, 600));
}

TEST(CellMetrics, CellsHaveTheirNumbersWhereTheyFit) {
  const CellMetrics cells = metrics(4, 20);
  EXPECT_TRUE(cells.readable);
  EXPECT_EQ(cells.height, 21);
  EXPECT_EQ(cells.width, 34);
}

TEST(CellMetrics, CellsKeepTheirNumbersHoweverManyThereAre) {
  const CellMetrics cells = metrics(1'024, 512);
  EXPECT_TRUE(cells.readable);
  EXPECT_EQ(cells.height, 21);
  EXPECT_EQ(cells.width, 34);
}

TEST(CellMetrics, AllCellsAreSeenAtOnceIfThatIsAskedFor) {
  EXPECT_EQ(metrics(100, 20, kAllCells).width, 34) << "no wider than cells with numbers are";
  EXPECT_EQ(metrics(100, 20, kAllCells).height, 5) << "(600 - 16) / 100";
  EXPECT_EQ(metrics(256, 370, kAllCells).height, 2) << "(600 - 16) / 256";
  EXPECT_EQ(metrics(256, 370, kAllCells).width, 2) << "(800 - 60) / 370";
  EXPECT_TRUE(metrics(27, 20, kAllCells).readable) << "27 * 21 <= 600 - 16";
  EXPECT_FALSE(metrics(28, 20, kAllCells).readable);
}

TEST(CellMetrics, ACellHasAPixelAtLeast) {
  EXPECT_EQ(metrics(10'000, 10'000, kAllCells).width, 1);
  EXPECT_EQ(metrics(10'000, 10'000, kAllCells).height, 1);
}

TEST(CellMetrics, AChosenSizeIsKeptWhateverTheRoom) {
  EXPECT_EQ(metrics(256, 512, 30).height, 30);
  EXPECT_FALSE(metrics(4, 20, 10).readable);
}

std::vector<BlockTableGrid> grids_of(std::size_t rows, std::int32_t columns,
                                     std::size_t num_grids) {
  std::vector<BlockTableGrid> grids(num_grids);
  for (BlockTableGrid& grid : grids) {
    grid.num_columns = columns;
    grid.rows.resize(rows);
  }
  return grids;
}

std::int32_t fit(std::size_t rows, std::int32_t columns, std::size_t num_grids) {
  const std::vector<GridWords> words(num_grids, {.names = 50, .largest_block = 999});
  return fit_size(grids_of(rows, columns, num_grids), words, Look{}, ImVec2(800, 600), 30);
}

// Two grids of 46 + rows * size pixels each in 600.
TEST(FitSize, SmallRunsHaveLargeCells) {
  EXPECT_EQ(fit(1, 3, 2), 100) << "the largest";
  EXPECT_EQ(fit(3, 2, 2), 84) << "(600 - 2 * 46) / 6";
  EXPECT_EQ(fit(8, 3, 2), 31) << "(600 - 2 * 46) / 16";
  EXPECT_EQ(fit(4, 15, 2), 30) << "15 columns of 34 * size / 21 in 740";
}

TEST(FitSize, WhereTheUsualSizeDoesNotFitEachGridIsFittedByItself) {
  EXPECT_EQ(fit(13, 3, 2), 0);
  EXPECT_EQ(fit(1, 100, 1), 0);
}

// 600 pixels less 46 of each grid, for all rows.
TEST(SharedRowHeight, SmallCellsMakeAllGridsFitUntilRowsWouldBeLowerThanFourPixels) {
  const auto shared = [](std::size_t rows, std::size_t num_grids) {
    return shared_row_height(grids_of(rows, 3, num_grids), Look{}, ImVec2(800, 600), 30);
  };
  EXPECT_EQ(shared(20, 2), 12) << "508 / 40";
  EXPECT_EQ(shared(63, 2), 4) << "508 / 126";
  EXPECT_EQ(shared(64, 2), 0);
  EXPECT_EQ(shared(256, 4), 0);
}

}  // namespace

}  // namespace hybridscope::test::block_tables_panel_test
