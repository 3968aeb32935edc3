#include "gui/panels/cell_metrics.h"

#include <gtest/gtest.h>

namespace hybridscope::test::cell_metrics_test {
namespace {

// A panel of 800 x 600 pixels, names of 50 pixels.
CellMetrics metrics(std::size_t rows, std::int32_t columns, std::int32_t cell_size = 0) {
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

TEST(CellMetrics, RowsMayTakeThreePanels) {
  EXPECT_TRUE(metrics(85, 20).readable);
  EXPECT_FALSE(metrics(86, 20).readable);
}

TEST(CellMetrics, ALargeGridIsSeenAtOnce) {
  const CellMetrics cells = metrics(256, 512);
  EXPECT_EQ(cells.width, 1);   // (800 - 60) / 512
  EXPECT_EQ(cells.height, 2);  // (600 - 16) / 256
  EXPECT_EQ(metrics(100, 20).width, 14) << "no larger than small cells are";
  EXPECT_EQ(metrics(100, 20).height, 5);
}

TEST(CellMetrics, ACellHasAPixelAtLeast) {
  EXPECT_EQ(metrics(10'000, 10'000).width, 1);
  EXPECT_EQ(metrics(10'000, 10'000).height, 2);
}

TEST(CellMetrics, AChosenSizeIsKeptWhateverTheRoom) {
  EXPECT_EQ(metrics(256, 512, 30).height, 30);
  EXPECT_FALSE(metrics(4, 20, 10).readable);
}

}  // namespace
}  // namespace hybridscope::test::cell_metrics_test
