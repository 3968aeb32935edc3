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
}  // namespace hybridscope::test::cell_metrics_test
