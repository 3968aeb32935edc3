#include "core/engine/block_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/base/check.h"

namespace hybridscope::test::block_table_test {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;

// The row over its whole width, stale entries included.
Ids whole_row(const BlockTable& table, std::int32_t row) {
  Ids ids;
  for (std::int32_t column = 0; column < table.num_columns(); ++column)
    ids.push_back(table.rows(row + 1).at(row, column));
  return ids;
}

TEST(BlockTable, AppendWritesBehindTheLastId) {
  BlockTable table(2, 5);
  table.append_row(1, Ids{4, 6});
  table.append_row(1, Ids{9});
  EXPECT_THAT(table.row(1), ElementsAre(4, 6, 9));
  EXPECT_THAT(whole_row(table, 1), ElementsAre(4, 6, 9, 0, 0));
  EXPECT_THAT(table.row(0), ElementsAre());
}

TEST(BlockTable, AppendBeyondTheWidthIsAContractViolation) {
  BlockTable table(1, 2);
  table.append_row(0, Ids{1, 2});
  EXPECT_THROW(table.append_row(0, Ids{3}), ContractViolation);
}

TEST(BlockTable, AddRowKeepsTheOlderTail) {
  BlockTable table(1, 4);
  table.append_row(0, Ids{1, 2, 3});
  table.add_row(0, Ids{8});
  EXPECT_THAT(table.row(0), ElementsAre(8));
  EXPECT_THAT(whole_row(table, 0), ElementsAre(8, 2, 3, 0));
}

TEST(BlockTable, ClearRowNullsTheIdsButNotAnOlderTail) {
  BlockTable table(1, 4);
  table.append_row(0, Ids{1, 2, 3});
  table.add_row(0, Ids{8, 9});
  table.clear_row(0);
  EXPECT_THAT(table.row(0), ElementsAre());
  EXPECT_THAT(whole_row(table, 0), ElementsAre(0, 0, 3, 0));
}

TEST(BlockTable, MoveRowKeepsItsSourceAndTheTargetsTail) {
  BlockTable table(2, 4);
  table.append_row(0, Ids{1, 2, 3});
  table.append_row(1, Ids{7, 8});
  table.move_row(1, 0);
  EXPECT_THAT(table.row(0), ElementsAre(7, 8));
  EXPECT_THAT(whole_row(table, 0), ElementsAre(7, 8, 3, 0));
  EXPECT_THAT(table.row(1), ElementsAre(7, 8));
}

TEST(BlockTable, SwapRowExchangesIdsTailsAndLengths) {
  BlockTable table(2, 3);
  table.append_row(0, Ids{1, 2, 3});
  table.add_row(0, Ids{4});
  table.append_row(1, Ids{7, 8});
  table.swap_row(0, 1);
  EXPECT_THAT(table.row(0), ElementsAre(7, 8));
  EXPECT_THAT(whole_row(table, 0), ElementsAre(7, 8, 0));
  EXPECT_THAT(table.row(1), ElementsAre(4));
  EXPECT_THAT(whole_row(table, 1), ElementsAre(4, 2, 3));
}

TEST(BlockTable, PaddingNullsWholeRowsAndLeavesLengths) {
  BlockTable table(3, 2);
  for (const std::int32_t row : {0, 1, 2}) table.append_row(row, Ids{row + 1, row + 1});
  table.null_rows(1, 3);
  table.null_rows(2, 2);
  EXPECT_THAT(whole_row(table, 0), ElementsAre(1, 1));
  EXPECT_THAT(whole_row(table, 1), ElementsAre(0, 0));
  EXPECT_THAT(whole_row(table, 2), ElementsAre(0, 0));
}

TEST(BlockTable, HasTheRowsThatWereWrittenOrNulled) {
  BlockTable table(4, 262144);
  EXPECT_EQ(table.num_rows(), 0);
  table.append_row(1, Ids{7});
  EXPECT_EQ(table.num_rows(), 2);
  EXPECT_EQ(table.mamba_view(0).num_blocks_per_row.size(), 2U);
  table.null_rows(2, 3);
  EXPECT_EQ(table.num_rows(), 3);
  EXPECT_THAT(table.row(3), ElementsAre());
  EXPECT_THROW(table.rows(4), ContractViolation);
  EXPECT_THROW(table.null_rows(4, 5), ContractViolation);
}

}  // namespace
}  // namespace hybridscope::test::block_table_test
