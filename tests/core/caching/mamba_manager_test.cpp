#include "core/caching/mamba_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/caching/block_pool_policies.h"

namespace hybridscope::mamba_manager_test {
namespace {

using testing::ElementsAre;

// One request in one mamba group with block size 4.
struct Fixture {
  BlockPool pool{{.num_blocks = 30, .policies = PolicySet{BlockRegistration::at_allocation}},
                 nullptr};
  RequestTable table;
  std::vector<BlockHash> hashes = std::vector<BlockHash>(16);
  MambaManager manager;

  Fixture(MambaCacheMode mode, std::int32_t num_speculative_blocks)
      : manager({.parameters = {.group = 0, .block_size = 4, .hash_block_size = 4},
                 .mamba_cache_mode = mode,
                 .num_speculative_blocks = num_speculative_blocks}) {
    std::iota(hashes.begin(), hashes.end(), BlockHash{100});
  }
  TableEdit edit() { return {.pool = pool, .table = table, .owner = {.request = {0}, .group = 0}}; }
  std::int64_t need(std::int32_t num_tokens, std::vector<std::int32_t> hit = {},
                    std::int32_t num_computed_tokens = 0) {
    return manager.get_num_blocks_to_allocate({.pool = pool,
                                               .table = table,
                                               .new_computed_blocks = hit,
                                               .num_tokens = num_tokens,
                                               .num_tokens_main_model = num_tokens,
                                               .num_computed_tokens = num_computed_tokens});
  }
};

TEST(MambaManager, AlignPadsWithNullBlocksUpToTheRunningColumn) {
  Fixture f(MambaCacheMode::align, 2);
  EXPECT_EQ(f.need(8), 3);
  EXPECT_EQ(f.manager.allocate_new_blocks(f.edit(), 8, 8), 0);
  EXPECT_THAT(f.table.block_ids, ElementsAre(0, 1, 2, 3));
}

TEST(MambaManager, AlignCachesOnlyBlocksThatExist) {
  Fixture f(MambaCacheMode::align, 2);
  f.manager.allocate_new_blocks(f.edit(), 8, 8);
  f.manager.cache_blocks(f.edit(), f.hashes, 8, {});
  EXPECT_EQ(f.pool.key(1), (BlockKey{.block_hash = 101, .group = 0}));
  EXPECT_EQ(f.pool.num_cached_hashes(), 1);
  EXPECT_EQ(f.table.num_cached, 2);
}

TEST(MambaManager, AlignDecodeTakesOneBlockWhenItEntersAColumn) {
  Fixture f(MambaCacheMode::align, 2);
  f.manager.allocate_new_blocks(f.edit(), 8, 8);
  f.manager.remove_skipped_blocks(f.edit(), 8);
  EXPECT_EQ(f.need(9, {}, 8), 1);
  EXPECT_EQ(f.manager.allocate_new_blocks(f.edit(), 9, 9), 4);
  EXPECT_THAT(f.table.block_ids, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(f.table.last_state_block_idx, 1);
}

TEST(MambaManager, AlignNeedsNothingInsideAColumn) {
  Fixture f(MambaCacheMode::align, 2);
  f.manager.allocate_new_blocks(f.edit(), 9, 9);
  EXPECT_EQ(f.need(10, {}, 9), 0);
  EXPECT_EQ(f.manager.allocate_new_blocks(f.edit(), 12, 10), 5);
  EXPECT_EQ(f.table.size(), 5);
}

TEST(MambaManager, AlignNeedIsNegativeWhereTheListIsLongerThanAsked) {
  Fixture f(MambaCacheMode::align, 2);
  f.manager.allocate_new_blocks(f.edit(), 9, 9);
  EXPECT_EQ(f.need(4), -2);
}

TEST(MambaManager, AlignMovesSpeculativeBlocksBehindALongerChunk) {
  Fixture f(MambaCacheMode::align, 2);
  f.manager.allocate_new_blocks(f.edit(), 16, 16);
  EXPECT_THAT(f.table.block_ids, ElementsAre(0, 0, 0, 1, 2, 3));
  EXPECT_EQ(f.need(28, {}, 16), 1);
  EXPECT_EQ(f.manager.allocate_new_blocks(f.edit(), 28, 28), 6);
  EXPECT_THAT(f.table.block_ids, ElementsAre(0, 0, 0, 1, 0, 0, 2, 3, 4));
}

TEST(MambaManager, AlignFreesTheLastStateOnceItLiesBehind) {
  Fixture f(MambaCacheMode::align, 2);
  f.manager.allocate_new_blocks(f.edit(), 16, 16);
  f.manager.allocate_new_blocks(f.edit(), 28, 28);
  f.manager.remove_skipped_blocks(f.edit(), 18);
  EXPECT_THAT(f.table.block_ids, ElementsAre(0, 0, 0, 1, 0, 0, 2, 3, 4));
  // 20 - 2 tokens cannot be rejected any more and lie in column 4.
  f.manager.remove_skipped_blocks(f.edit(), 20);
  EXPECT_THAT(f.table.block_ids, ElementsAre(0, 0, 0, 0, 0, 0, 2, 3, 4));
  EXPECT_EQ(f.pool.free_queue().front(), 1);
}

TEST(RequestTable, ARetiredColumnHoldsNoBlock) {
  const RequestTable table{.block_ids = {0, 0, 0, 9}, .num_retired = 2};
  EXPECT_FALSE(table.holds_block(1));  // retired
  EXPECT_FALSE(table.holds_block(2));  // null
  EXPECT_TRUE(table.holds_block(3));
  EXPECT_FALSE(table.holds_block(4));  // past the list
}

TEST(MambaManager, NothingIsCachedBeforeTheNextBlockIsFull) {
  Fixture f(MambaCacheMode::align, 0);
  f.manager.allocate_new_blocks(f.edit(), 8, 8);
  f.manager.cache_blocks(f.edit(), f.hashes, 7, {});
  EXPECT_EQ(f.pool.num_cached_hashes(), 0);
  EXPECT_EQ(f.table.num_cached, 1);
  f.manager.cache_blocks(f.edit(), f.hashes, 8, {});
  EXPECT_EQ(f.pool.num_cached_hashes(), 1);
  EXPECT_EQ(f.table.num_cached, 2);
}

TEST(MambaManager, AHitKeepsOnlyItsState) {
  Fixture f(MambaCacheMode::align, 0);
  const std::int32_t state = f.pool.get_new_block({});
  f.pool.cache_full_block(
      {.block = state, .owner = {.request = {1}, .group = 0}, .num_tokens = 8, .block_hash = 101});
  f.pool.free_blocks(std::vector<std::int32_t>{state}, {});
  // One block for the chunk, and the state leaves the free queue.
  EXPECT_EQ(f.need(12, {0, state}, 8), 2);
  f.manager.add_local_computed_blocks(f.edit(), std::vector<std::int32_t>{0, state}, 8);
  EXPECT_THAT(f.table.block_ids, ElementsAre(0, state));
  EXPECT_EQ(f.table.num_cached, 2);
  EXPECT_EQ(f.manager.allocate_new_blocks(f.edit(), 12, 12), 2);
  EXPECT_THAT(f.table.block_ids, ElementsAre(0, state, 2));
  EXPECT_EQ(f.table.last_state_block_idx, 1);
}

TEST(MambaManager, AStateCachedInThisStepCannotBeUsedBeforeTheNext) {
  Fixture f(MambaCacheMode::align, 0);
  f.manager.allocate_new_blocks(f.edit(), 4, 4);
  f.manager.cache_blocks(f.edit(), f.hashes, 4, {});
  const std::vector<std::int32_t> hit{1};
  RequestTable none;
  const BlockNeedArgs args{.pool = f.pool,
                           .table = none,
                           .new_computed_blocks = hit,
                           .num_tokens = 8,
                           .num_tokens_main_model = 8,
                           .num_computed_tokens = 4};
  EXPECT_EQ(f.manager.get_num_blocks_to_allocate(args), 31);
  f.manager.new_step_starts();
  EXPECT_EQ(f.manager.get_num_blocks_to_allocate(args), 1);
}

TEST(MambaManager, ModesNoneAndAllAppendSpeculativeBlocks) {
  for (const MambaCacheMode mode : {MambaCacheMode::none, MambaCacheMode::all}) {
    Fixture f(mode, 2);
    EXPECT_EQ(f.need(8), 4);
    EXPECT_EQ(f.manager.allocate_new_blocks(f.edit(), 8, 8), 0);
    EXPECT_THAT(f.table.block_ids, ElementsAre(1, 2, 3, 4));
  }
}

TEST(MambaManager, ModeAllFreesStatesBehindTheLastOneFirstColumnLast) {
  Fixture f(MambaCacheMode::all, 0);
  f.manager.allocate_new_blocks(f.edit(), 12, 12);
  // State 9 tokens in: columns 0 and 1 are behind it, column 1 goes first and so becomes the head.
  f.manager.remove_skipped_blocks(f.edit(), 9);
  EXPECT_THAT(f.table.block_ids, ElementsAre(0, 0, 3));
  EXPECT_EQ(f.pool.free_queue()[0], 2);
  EXPECT_EQ(f.pool.free_queue()[1], 1);
}

}  // namespace
}  // namespace hybridscope::mamba_manager_test
