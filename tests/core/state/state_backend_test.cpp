#include "core/state/state_backend.h"

#include <gtest/gtest.h>

namespace hybridscope::state_backend_test {
namespace {

StateMemory memory_of(std::int32_t num_groups, std::int32_t num_blocks) {
  StateMemory memory;
  memory.num_blocks = num_blocks;
  for (std::int32_t group = 0; group < num_groups; ++group)
    memory.tensors.mamba_group_ids.push_back(group);
  return memory;
}

TEST(StepSize, IsThatOfTheArraysOfTheOperations) {
  StateOps ops;
  ops.add_poison(1);
  ops.add_copy({.dst_block = 2});
  ops.add_copy({.dst_block = 3});
  ops.tokens = {1, 2, 3, 4, 5};
  ops.writes.resize(4);
  ops.add_row({});
  ops.add_row({});
  ops.add_row({});
  EXPECT_EQ(
      size_of(ops),
      (StepSize{
          .num_poisoned = 1, .num_copies = 2, .num_rows = 3, .num_writes = 4, .num_tokens = 5}));
}

TEST(StepSize, HoldsAStepNoneOfWhoseArraysIsLonger) {
  const StepSize room{
      .num_poisoned = 1, .num_copies = 1, .num_rows = 1, .num_writes = 1, .num_tokens = 1};
  EXPECT_TRUE(room.holds(room));
  EXPECT_TRUE(room.holds({}));
  EXPECT_FALSE(room.holds({.num_poisoned = 2}));
  EXPECT_FALSE(room.holds({.num_copies = 2}));
  EXPECT_FALSE(room.holds({.num_rows = 2}));
  EXPECT_FALSE(room.holds({.num_writes = 2}));
  EXPECT_FALSE(room.holds({.num_tokens = 2}));
}

// 2 groups, 10 tokens in 3 rows: more blocks than a step can touch.
TEST(LargestStep, FollowsFromTokensAndRowsWhereBlocksAreMany) {
  EXPECT_EQ(largest_step(memory_of(2, 1000), {.max_num_batched_tokens = 10, .max_num_rows = 3}),
            (StepSize{.num_poisoned = 2000,
                      .num_copies = 2 * 2 * 3 + 2 * 10,
                      .num_rows = 2 * 3,
                      .num_writes = 2 * 4 * 10 + 2 * 3,
                      .num_tokens = 10 + 2 * 3}));
}

TEST(LargestStep, FollowsFromBlocksWhereTheyAreFew) {
  EXPECT_EQ(largest_step(memory_of(2, 5), {.max_num_batched_tokens = 8192, .max_num_rows = 256}),
            (StepSize{.num_poisoned = 10,
                      .num_copies = 3 * 5,
                      .num_rows = 2 * 256,
                      .num_writes = 2 * 5 + 2 * 256,
                      .num_tokens = 8192 + 2 * 256}));
}

}  // namespace

}  // namespace hybridscope::state_backend_test
