#include "core/state/state_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::state_ops_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(StateOps, OperationsOfOneKindAreOneBatch) {
  StateOps ops;
  ops.add_poison(4);
  ops.add_poison(7);
  ops.add_row({.group_index = 0});
  ops.add_row({.group_index = 1});
  ops.add_poison(9);
  EXPECT_THAT(ops.batches, ElementsAre(StateOpBatch{StateOpKind::poison, 0, 2},
                                       StateOpBatch{StateOpKind::forward, 0, 2},
                                       StateOpBatch{StateOpKind::poison, 2, 1}));
  EXPECT_THAT(ops.poisoned, ElementsAre(4, 7, 9));
}

// The copies of a launch read before they write, those of the next launch read what it wrote.
TEST(StateOps, LaunchesStayApart) {
  StateOps ops;
  ops.begin_launch();
  ops.add_copy({.dst_block = 2});
  ops.add_copy({.dst_block = 3});
  ops.begin_launch();
  ops.add_copy({.dst_block = 4});
  EXPECT_THAT(ops.batches, ElementsAre(StateOpBatch{StateOpKind::copy, 0, 2},
                                       StateOpBatch{StateOpKind::copy, 2, 1}));
}

TEST(StateOps, ClearedTheyAreAsNew) {
  StateOps ops;
  ops.add_poison(4);
  ops.begin_launch();
  ops.add_copy({.dst_block = 2});
  ops.add_row({});
  ops.writes.push_back({});
  ops.tokens.push_back(1);
  ops.token_fingerprints.push_back(2);
  ops.clear();
  EXPECT_THAT(ops.batches, IsEmpty());
  EXPECT_THAT(ops.poisoned, IsEmpty());
  EXPECT_THAT(ops.copies, IsEmpty());
  EXPECT_THAT(ops.rows, IsEmpty());
  EXPECT_THAT(ops.writes, IsEmpty());
  EXPECT_THAT(ops.tokens, IsEmpty());
  EXPECT_THAT(ops.token_fingerprints, IsEmpty());
  ops.add_copy({.dst_block = 5});
  EXPECT_THAT(ops.batches, ElementsAre(StateOpBatch{StateOpKind::copy, 0, 1}));
}

}  // namespace
}  // namespace hybridscope::state_ops_test
