#include "core/caching/block_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "core/base/result.h"
#include "core/caching/block_pool_policies.h"

namespace hybridscope::block_pool_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr BlockOwner kOwner{.request = {0}, .group = 0};

BlockPool a_pool(std::int32_t num_blocks,
                 BlockRegistration registration = BlockRegistration::at_allocation,
                 CacheEventLog* log = nullptr) {
  return BlockPool({.num_blocks = num_blocks, .policies = PolicySet{registration}}, log);
}

std::vector<std::int32_t> take(BlockPool& pool, int count) {
  std::vector<std::int32_t> blocks;
  for (int i = 0; i < count; ++i) blocks.push_back(pool.get_new_block(kOwner));
  return blocks;
}

BlockRegistrationArgs registration(std::int32_t block, Fingerprint block_hash,
                                   std::int32_t num_tokens = 4, BlockOwner owner = kOwner) {
  return {.block = block, .owner = owner, .num_tokens = num_tokens, .block_hash = block_hash};
}

TEST(BlockPool, StartsWithAllBlocksButTheNullBlockFreeInOrder) {
  const BlockPool pool = a_pool(5);
  EXPECT_EQ(pool.num_free_blocks(), 4);
  EXPECT_THAT(pool.free_queue(), ElementsAre(1, 2, 3, 4));
}

TEST(BlockPool, GivesOutTheHeadOfTheQueueWithOneReference) {
  BlockPool pool = a_pool(5);
  EXPECT_THAT(take(pool, 2), ElementsAre(1, 2));
  EXPECT_EQ(pool.ref_cnt(1), 1);
  EXPECT_THAT(pool.free_queue(), ElementsAre(3, 4));
}

TEST(BlockPool, AnEmptyPoolGivesNothing) {
  BlockPool pool = a_pool(2);
  take(pool, 1);
  EXPECT_THROW(pool.get_new_block(kOwner), ContractViolation);
}

TEST(BlockPool, FreedBlocksWithoutHashGoToTheFrontAndHashedOnesToTheBack) {
  BlockPool pool = a_pool(7);
  take(pool, 4);
  pool.cache_full_block(registration(2, 20));
  pool.cache_full_block(registration(4, 40));
  pool.free_blocks(std::vector<std::int32_t>{4, 3, 2, 1}, kOwner);
  EXPECT_THAT(pool.free_queue(), ElementsAre(3, 1, 5, 6, 4, 2));
}

TEST(BlockPool, TheNullBlockIsNeverFreedTouchedOrRegistered) {
  BlockPool pool = a_pool(3);
  pool.free_blocks(std::vector<std::int32_t>{kNullBlock}, kOwner);
  pool.touch(kNullBlock, kOwner);
  pool.cache_full_block(registration(kNullBlock, 9));
  EXPECT_THAT(pool.free_queue(), ElementsAre(1, 2));
  EXPECT_EQ(pool.num_cached_hashes(), 0);
}

TEST(BlockPool, ABlockReturnsOnlyWithItsLastReference) {
  BlockPool pool = a_pool(3);
  take(pool, 1);
  pool.touch(1, kOwner);
  pool.free_blocks(std::vector<std::int32_t>{1}, kOwner);
  EXPECT_THAT(pool.free_queue(), ElementsAre(2));
  pool.free_blocks(std::vector<std::int32_t>{1}, kOwner);
  EXPECT_THAT(pool.free_queue(), ElementsAre(1, 2));
}

TEST(BlockPool, AFreeCachedBlockIsFoundAndLeavesTheQueueWhenTouched) {
  BlockPool pool = a_pool(4);
  take(pool, 1);
  pool.cache_full_block(registration(1, 10));
  pool.free_blocks(std::vector<std::int32_t>{1}, kOwner);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 10, .group = 0}), 1);
  pool.touch(1, kOwner);
  EXPECT_THAT(pool.free_queue(), ElementsAre(2, 3));
  EXPECT_EQ(pool.num_free_blocks(), 2);
}

TEST(BlockPool, ABlockLosesItsHashWhenItIsGivenOutAgain) {
  BlockPool pool = a_pool(2);
  take(pool, 1);
  pool.cache_full_block(registration(1, 10));
  pool.free_blocks(std::vector<std::int32_t>{1}, kOwner);
  take(pool, 1);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 10, .group = 0}), kNullBlock);
  EXPECT_EQ(pool.key(1), BlockKey{});
}

TEST(BlockPool, EvictedBlocksKeepTheirPlaceInTheQueue) {
  BlockPool pool = a_pool(4);
  take(pool, 2);
  pool.cache_full_block(registration(1, 10));
  pool.cache_full_block(registration(2, 20));
  pool.free_blocks(std::vector<std::int32_t>{2, 1}, kOwner);
  pool.evict_blocks(std::vector<std::int32_t>{2});
  EXPECT_THAT(pool.free_queue(), ElementsAre(3, 2, 1));
  EXPECT_EQ(pool.num_cached_hashes(), 1);
}

TEST(BlockPool, ABlockOfALongerPrefixReplacesTheKeyOfAShorterOne) {
  BlockPool pool = a_pool(2);
  take(pool, 1);
  pool.cache_full_block(registration(1, 10, 4));
  pool.cache_full_block(registration(1, 20, 8));
  EXPECT_EQ(pool.get_cached_block({.block_hash = 10, .group = 0}), kNullBlock);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 20, .group = 0}), 1);
  EXPECT_THROW(pool.cache_full_block(registration(1, 30, 8)), ContractViolation);
}

TEST(BlockPool, ResetWorksOnlyWhenNothingIsInUse) {
  BlockPool pool = a_pool(4);
  take(pool, 1);
  pool.cache_full_block(registration(1, 10));
  EXPECT_FALSE(pool.reset_prefix_cache());
  EXPECT_EQ(pool.num_cached_hashes(), 1);
  pool.free_blocks(std::vector<std::int32_t>{1}, kOwner);
  EXPECT_TRUE(pool.reset_prefix_cache());
  EXPECT_EQ(pool.num_cached_hashes(), 0);
  EXPECT_THAT(pool.free_queue(), ElementsAre(2, 3, 1));
}

TEST(BlockPool, AtAllocationNothingIsPlannedAndAFreedBlockStaysHittable) {
  BlockPool pool = a_pool(3);
  take(pool, 1);
  pool.cache_full_block(registration(1, 10));
  EXPECT_EQ(pool.planned_by(1), RequestId{});
  pool.withdraw({0});
  pool.free_blocks(std::vector<std::int32_t>{1}, kOwner);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 10, .group = 0}), 1);
}

TEST(BlockPool, WithdrawTakesBackOnlyWhatTheRequestPlannedSincePublish) {
  BlockPool pool = a_pool(5, BlockRegistration::planned_then_published);
  take(pool, 3);
  pool.cache_full_block(registration(1, 10));
  pool.publish();
  pool.cache_full_block(registration(2, 20));
  pool.cache_full_block(registration(3, 30, 4, {.request = {1}, .group = 0}));
  EXPECT_EQ(pool.num_planned_blocks(), 2);
  pool.withdraw({0});
  EXPECT_EQ(pool.get_cached_block({.block_hash = 10, .group = 0}), 1);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 20, .group = 0}), kNullBlock);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 30, .group = 0}), 3);
  EXPECT_EQ(pool.planned_by(3), RequestId{1});
  pool.publish();
  EXPECT_EQ(pool.num_planned_blocks(), 0);
  EXPECT_EQ(pool.planned_by(3), RequestId{});
}

TEST(BlockPool, APlannedBlockThatIsFreedCannotStayHittable) {
  CacheEventLog log;
  BlockPool pool = a_pool(3, BlockRegistration::planned_then_published, &log);
  take(pool, 1);
  pool.cache_full_block(registration(1, 10));
  log.clear();
  pool.free_blocks(std::vector<std::int32_t>{1}, kOwner);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 10, .group = 0}), kNullBlock);
  EXPECT_THAT(pool.free_queue(), ElementsAre(1, 2));
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0].kind, CacheEventKind::freed);
  EXPECT_EQ(log[1].kind, CacheEventKind::withdrawn);
}

TEST(BlockPool, ARegistrationIsRecordedWithThePrefixItStandsFor) {
  CacheEventLog log;
  BlockPool pool = a_pool(3, BlockRegistration::planned_then_published, &log);
  take(pool, 1);
  log.clear();
  pool.cache_full_block({.block = 1,
                         .owner = {.request = {7}, .group = 2},
                         .column = 3,
                         .num_tokens = 16,
                         .block_hash = 10});
  EXPECT_THAT(log, ElementsAre(CacheEvent{.kind = CacheEventKind::registered,
                                          .group = 2,
                                          .request = {7},
                                          .column = 3,
                                          .block = 1,
                                          .ref_cnt = 1,
                                          .num_tokens = 16,
                                          .block_hash = 10}));
  log.clear();
  pool.cache_full_block(registration(1, 10, 16, {.request = {8}, .group = 2}));
  EXPECT_THAT(log, IsEmpty());
}

TEST(BlockPool, ABlockCanHaveSeveralKeys) {
  BlockPool pool = a_pool(5);
  take(pool, 2);
  pool.cache_full_block(registration(1, 80, 8));
  pool.cache_partial_block(registration(1, 60, 6), /*replaces_keys=*/false);
  pool.cache_partial_block(registration(1, 60, 6), /*replaces_keys=*/false);  // once
  EXPECT_EQ(pool.get_cached_block({.block_hash = 80, .group = 0}), 1);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 60, .group = 0}), 1);
  EXPECT_EQ(pool.num_cached_hashes(), 2);
  EXPECT_EQ(pool.key_tokens(1), 8);
  // Both go when the block is given out again.
  pool.free_blocks(std::vector<std::int32_t>{1, 2}, kOwner);
  take(pool, 4);
  EXPECT_EQ(pool.num_cached_hashes(), 0);
}

TEST(BlockPool, AKeyOfALongerPrefixReplacesTheOthers) {
  BlockPool pool = a_pool(5);
  take(pool, 1);
  pool.cache_partial_block(registration(1, 20, 2), /*replaces_keys=*/false);
  pool.cache_partial_block(registration(1, 60, 6), /*replaces_keys=*/false);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 20, .group = 0}), kNullBlock);
  pool.cache_full_block(registration(1, 80, 8));
  EXPECT_EQ(pool.get_cached_block({.block_hash = 60, .group = 0}), kNullBlock);
  EXPECT_EQ(pool.key(1).block_hash, 80u);
  pool.cache_partial_block(registration(1, 60, 6), /*replaces_keys=*/true);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 80, .group = 0}), kNullBlock);
  EXPECT_EQ(pool.key_tokens(1), 6);
}

TEST(BlockPool, MovedKeysFindTheOtherBlock) {
  CacheEventLog log;
  BlockPool pool = a_pool(5, BlockRegistration::at_allocation, &log);
  take(pool, 2);
  pool.cache_full_block(registration(1, 80, 8));
  pool.cache_partial_block(registration(1, 60, 6), /*replaces_keys=*/false);
  log.clear();
  pool.move_keys(1, 2, kOwner);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 80, .group = 0}), 2);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 60, .group = 0}), 2);
  EXPECT_EQ(pool.key(1).block_hash, 0u);
  // One block loses all keys, the other gets each, in no column.
  ASSERT_EQ(log.size(), 3u);
  EXPECT_EQ(log[0].kind, CacheEventKind::evicted);
  EXPECT_EQ(log[1].num_tokens, 8);
  EXPECT_EQ(log[2].num_tokens, 6);
  EXPECT_EQ(log[2].column, -1);
}

// A key of this step is withdrawn, one of the step before stays.
TEST(BlockPool, WithdrawTakesBackTheKeysOfTheStepAlone) {
  BlockPool pool = a_pool(5, BlockRegistration::planned_then_published);
  take(pool, 1);
  pool.cache_full_block(registration(1, 80, 8));
  pool.publish();
  pool.cache_partial_block(registration(1, 60, 6), /*replaces_keys=*/false);
  EXPECT_EQ(pool.planned_by(1), kOwner.request);
  pool.withdraw(kOwner.request);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 60, .group = 0}), kNullBlock);
  EXPECT_EQ(pool.get_cached_block({.block_hash = 80, .group = 0}), 1);
  EXPECT_EQ(pool.num_planned_blocks(), 0);
}

TEST(BlockPool, FreedBlocksWithoutAKeyCanGoToTheBack) {
  BlockPool pool({.num_blocks = 4,
                  .policies = PolicySet{BlockRegistration::at_allocation},
                  .keyless_blocks_to_back = true},
                 nullptr);
  take(pool, 1);
  pool.free_blocks(std::vector<std::int32_t>{1}, kOwner);
  EXPECT_THAT(pool.free_queue(), ElementsAre(2, 3, 1));
}

TEST(BlockKeyMap, TheEarliestInsertedBlockStillThereIsFound) {
  BlockKeyMap map(8);
  const BlockKey key{.block_hash = 11, .group = 2};
  map.insert(key, 5);
  map.insert(key, 3);
  map.insert(key, 7);
  EXPECT_EQ(map.find(key), 5);
  map.erase(key, 3);
  map.erase(key, 5);
  EXPECT_EQ(map.find(key), 7);
  EXPECT_EQ(map.size(), 1);
}

TEST(BlockKeyMap, TheLastBlockTakesTheKeyWithIt) {
  BlockKeyMap map(8);
  const BlockKey key{.block_hash = 11, .group = 0};
  map.insert(key, 5);
  map.erase(key, 5);
  EXPECT_EQ(map.find(key), kNullBlock);
  EXPECT_EQ(map.size(), 0);
}

TEST(BlockKeyMap, GroupsDoNotShareKeys) {
  BlockKeyMap map(8);
  map.insert({.block_hash = 11, .group = 0}, 5);
  EXPECT_EQ(map.find({.block_hash = 11, .group = 1}), kNullBlock);
}

TEST(BlockKeyMap, RandomOperationsEqualAMapOfLists) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::int32_t num_blocks = 2 + static_cast<std::int32_t>(random() % 60);
    BlockKeyMap map(num_blocks);
    std::map<std::pair<Fingerprint, std::int32_t>, std::vector<std::int32_t>> naive;
    std::map<std::int32_t, BlockKey> key_of;
    for (int step = 0; step < 2000; ++step) {
      const auto block =
          1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(num_blocks - 1));
      if (const auto held = key_of.find(block); held != key_of.end()) {
        const BlockKey key = held->second;
        map.erase(key, block);
        auto& blocks = naive[{key.block_hash, key.group}];
        blocks.erase(std::find(blocks.begin(), blocks.end(), block));
        if (blocks.empty()) naive.erase({key.block_hash, key.group});
        key_of.erase(held);
      } else {
        const BlockKey key{.block_hash = 1 + random() % 40,
                           .group = static_cast<std::int32_t>(random() % 2)};
        map.insert(key, block);
        naive[{key.block_hash, key.group}].push_back(block);
        key_of[block] = key;
      }
      ASSERT_EQ(map.size(), static_cast<std::int32_t>(naive.size()));
      for (Fingerprint hash = 1; hash <= 40; ++hash) {
        for (std::int32_t group = 0; group < 2; ++group) {
          const auto found = naive.find({hash, group});
          const std::int32_t expected = found == naive.end() ? kNullBlock : found->second.front();
          ASSERT_EQ(map.find({.block_hash = hash, .group = group}), expected);
        }
      }
    }
  }
}

}  // namespace

}  // namespace hybridscope::block_pool_test
