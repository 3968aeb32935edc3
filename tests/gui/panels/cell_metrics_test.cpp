#include "gui/panels/cell_metrics.h"

#include <gtest/gtest.h>

#include <vector>

namespace hybridscope::test::cell_metrics_test {
namespace {

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

// 4800 / 21 rows, 8 * (800 - 60) / 34 columns.
TEST(CellMetrics, CellsKeepTheirNumbersInAGridOfEightPanels) {
  EXPECT_TRUE(metrics(228, 174).readable);
  EXPECT_EQ(metrics(228, 174).height, 21);
  EXPECT_EQ(metrics(228, 174).width, 34);
  EXPECT_FALSE(metrics(229, 20).readable);
  EXPECT_FALSE(metrics(4, 175).readable);
}

TEST(CellMetrics, ALargerGridIsSeenAtOnce) {
  const CellMetrics cells = metrics(256, 512);
  EXPECT_EQ(cells.width, 1);   // (800 - 60) / 512
  EXPECT_EQ(cells.height, 2);  // (600 - 16) / 256
}

TEST(CellMetrics, AllCellsAreSeenAtOnceIfThatIsAskedFor) {
  EXPECT_EQ(metrics(100, 20, kAllCells).width, 14) << "no larger than small cells are";
  EXPECT_EQ(metrics(100, 20, kAllCells).height, 5);
  EXPECT_TRUE(metrics(28, 20, kAllCells).readable) << "28 * 21 <= 600";
  EXPECT_FALSE(metrics(29, 20, kAllCells).readable);
}

TEST(CellMetrics, ACellHasAPixelAtLeast) {
  EXPECT_EQ(metrics(10'000, 10'000).width, 1);
  EXPECT_EQ(metrics(10'000, 10'000).height, 2);
}

TEST(CellMetrics, AChosenSizeIsKeptWhateverTheRoom) {
  EXPECT_EQ(metrics(256, 512, 30).height, 30);
  EXPECT_FALSE(metrics(4, 20, 10).readable);
}

std::int32_t fit(std::size_t rows, std::int32_t columns, std::size_t num_grids) {
  std::vector<BlockTableGrid> grids(num_grids);
  for (BlockTableGrid& grid : grids) {
    grid.num_columns = columns;
    grid.rows.resize(rows);
  }
  const std::vector<GridWords> words(num_grids, {.names = 50, .largest_block = 999});
  return fit_size(grids, words, Look{}, ImVec2(800, 600), 30);
}

// Two grids of 46 + rows * size pixels each in 600.
TEST(FitSize, SmallRunsHaveLargeCells) {
  EXPECT_EQ(fit(1, 3, 2), 40) << "the largest";
  EXPECT_EQ(fit(8, 3, 2), 31) << "(600 - 2 * 46) / 16";
  EXPECT_EQ(fit(4, 15, 2), 30) << "15 columns of 34 * size / 21 in 740";
}

TEST(FitSize, WhereTheUsualSizeDoesNotFitEachGridIsFittedByItself) {
  EXPECT_EQ(fit(13, 3, 2), 0);
  EXPECT_EQ(fit(1, 100, 1), 0);
}

}  // namespace
}  // namespace hybridscope::test::cell_metrics_test
