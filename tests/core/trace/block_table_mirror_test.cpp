#include "core/trace/block_table_mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/result.h"

namespace hybridscope::block_table_mirror_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CacheEvent column_set(std::int32_t request, std::int32_t group, std::int32_t column,
                      std::int32_t block) {
  return {.kind = CacheEventKind::column_set,
          .group = group,
          .request = {request},
          .column = column,
          .block = block};
}

CacheEvent table_dropped(std::int32_t request, std::int32_t group) {
  return {.kind = CacheEventKind::table_dropped, .group = group, .request = {request}};
}

TEST(BlockTableMirror, KeepsOneListForEachRequestAndGroup) {
  BlockTableMirror mirror(2, 16);
  mirror.apply(column_set(3, 0, 0, 5));
  mirror.apply(column_set(3, 1, 0, 6));
  mirror.apply(column_set(0, 1, 0, 7));
  EXPECT_THAT(mirror.block_ids({3}, 0), ElementsAre(5));
  EXPECT_THAT(mirror.block_ids({3}, 1), ElementsAre(6));
  EXPECT_THAT(mirror.block_ids({0}, 1), ElementsAre(7));
  EXPECT_THAT(mirror.block_ids({0}, 0), IsEmpty());
  EXPECT_THAT(mirror.block_ids({9}, 0), IsEmpty());
  EXPECT_THAT(mirror.block_ids({}, 0), IsEmpty());
  EXPECT_THAT(mirror.block_ids({3}, 2), IsEmpty());
}

TEST(BlockTableMirror, ColumnsBetweenAreNull) {
  BlockTableMirror mirror(1, 16);
  mirror.apply(column_set(0, 0, 2, 5));
  EXPECT_THAT(mirror.block_ids({0}, 0), ElementsAre(0, 0, 5));
  EXPECT_EQ(mirror.block_at({0}, 0, 2), 5);
  EXPECT_EQ(mirror.block_at({0}, 0, 3), kNullBlock);
  EXPECT_EQ(mirror.block_at({0}, 0, -1), kNullBlock);
}

TEST(BlockTableMirror, CountsTheColumnsThatHoldABlock) {
  BlockTableMirror mirror(2, 16);
  mirror.apply(column_set(0, 0, 0, 5));
  mirror.apply(column_set(1, 0, 0, 5));
  mirror.apply(column_set(1, 1, 0, 6));
  EXPECT_EQ(mirror.holders(5), 2);
  EXPECT_EQ(mirror.holders(6), 1);
  EXPECT_EQ(mirror.num_held_blocks(), 2);
  mirror.apply(column_set(0, 0, 0, 0));
  EXPECT_EQ(mirror.holders(5), 1);
  EXPECT_EQ(mirror.holders(kNullBlock), 0);
  mirror.apply(column_set(1, 0, 0, 6));
  EXPECT_EQ(mirror.holders(5), 0);
  EXPECT_EQ(mirror.holders(6), 2);
  EXPECT_EQ(mirror.num_held_blocks(), 1);
}

TEST(BlockTableMirror, BlockThatMovesToAnotherColumnIsStillHeld) {
  BlockTableMirror mirror(1, 16);
  mirror.apply(column_set(0, 0, 0, 5));
  mirror.apply(column_set(0, 0, 1, 6));
  mirror.apply(column_set(0, 0, 2, 5));
  mirror.apply(column_set(0, 0, 0, 0));
  EXPECT_TRUE(mirror.holds({0}, 0, 5));
  EXPECT_TRUE(mirror.holds({0}, 0, 6));
  EXPECT_FALSE(mirror.holds({0}, 0, 7));
  EXPECT_FALSE(mirror.holds({1}, 0, 5));
  EXPECT_EQ(mirror.holders(5), 1);
}

TEST(BlockTableMirror, DroppedTableLetsGoOfItsBlocks) {
  BlockTableMirror mirror(2, 16);
  mirror.apply(column_set(0, 0, 0, 5));
  mirror.apply(column_set(0, 1, 0, 6));
  mirror.apply(column_set(1, 0, 0, 5));
  mirror.apply(table_dropped(0, 0));
  EXPECT_THAT(mirror.block_ids({0}, 0), IsEmpty());
  EXPECT_THAT(mirror.block_ids({0}, 1), ElementsAre(6));
  EXPECT_EQ(mirror.holders(5), 1);
  mirror.apply(table_dropped(0, 1));
  mirror.apply(table_dropped(1, 0));
  EXPECT_EQ(mirror.num_held_blocks(), 0);
}

TEST(BlockTableMirror, ResumedRequestStartsWithAnEmptyTable) {
  BlockTableMirror mirror(1, 16);
  mirror.apply(column_set(0, 0, 3, 5));
  mirror.apply(table_dropped(0, 0));
  mirror.apply(column_set(1, 0, 0, 6));  // may take the place that became free
  mirror.apply(column_set(0, 0, 0, 7));
  EXPECT_THAT(mirror.block_ids({0}, 0), ElementsAre(7));
  EXPECT_THAT(mirror.block_ids({1}, 0), ElementsAre(6));
}

TEST(BlockTableMirror, OtherEventsChangeNothing) {
  BlockTableMirror mirror(1, 16);
  mirror.apply({.kind = CacheEventKind::allocated, .group = 0, .request = {0}, .block = 5});
  mirror.apply({.kind = CacheEventKind::freed, .group = 0, .request = {0}, .block = 5});
  EXPECT_EQ(mirror.num_held_blocks(), 0);
}

TEST(BlockTableMirror, ListsTheRequestsThatHaveATable) {
  BlockTableMirror mirror(2, 16);
  mirror.apply(column_set(4, 1, 0, 5));
  mirror.apply(column_set(2, 0, 0, 6));
  mirror.apply(column_set(3, 0, 0, 7));
  mirror.apply(table_dropped(3, 0));
  EXPECT_THAT(mirror.requests(), ElementsAre(RequestId{2}, RequestId{4}));
}

TEST(BlockTableMirror, RestoredTableHoldsItsBlocks) {
  BlockTableMirror mirror(1, 16);
  mirror.apply(column_set(0, 0, 0, 9));
  mirror.set_block_ids({0}, 0, std::vector<std::int32_t>{0, 5, 5});
  mirror.set_deferred(7, 2);
  EXPECT_THAT(mirror.block_ids({0}, 0), ElementsAre(0, 5, 5));
  EXPECT_EQ(mirror.holders(5), 2);
  EXPECT_EQ(mirror.holders(9), 0);
  EXPECT_EQ(mirror.num_held_blocks(), 1);
  EXPECT_EQ(mirror.deferred(7), 2);
  EXPECT_EQ(mirror.num_deferred(), 2);
  mirror.apply(table_dropped(0, 0));
  EXPECT_EQ(mirror.num_held_blocks(), 0);
}

TEST(BlockTableMirror, BlocksOutsideThePoolAreAnErrorOfTheCaller) {
  BlockTableMirror mirror(1, 4);
  EXPECT_THROW(mirror.apply(column_set(0, 0, 0, 4)), ContractViolation);
  EXPECT_THROW(mirror.apply(column_set(0, 1, 0, 2)), ContractViolation);
}

}  // namespace
}  // namespace hybridscope::block_table_mirror_test
