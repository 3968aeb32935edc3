// Hits that end inside a block: blocks of 8 tokens, hash blocks of 2, one attention group and one
// mamba group, with the rules of the newest release.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/kv_cache_manager.h"
#include "core/caching/mamba_manager_policies.h"
#include "tests/core/caching/cache_test_support.h"

namespace hybridscope::test::hits_inside_blocks_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

KVCacheManager manager_of_release(CacheEventLog* log, std::int32_t checkpoint_blocks = 0) {
  KVCacheManagerConfig config = config_of({.num_blocks = 30, .block_size = 8});
  config.hash_block_size = 2;
  config.policies =
      PolicySet{BlockRegistration::at_allocation, HitsInsideBlocks::with_smaller_hash_blocks,
                PromptTailKey::at_replay_position_once, PrefillCheckpoint::as_states_retained};
  auto& mamba = std::get<MambaSpec>(config.kv_cache_config.groups[1].spec);
  mamba.num_prefill_checkpoint_blocks = checkpoint_blocks;
  mamba.prefill_checkpoint_alignment = checkpoint_blocks;
  return KVCacheManager::create(config, log).value();
}

// (block, tokens) of the keys that were registered, in order; the log is emptied.
std::vector<std::pair<std::int32_t, std::int32_t>> registered(CacheEventLog& log) {
  std::vector<std::pair<std::int32_t, std::int32_t>> keys;
  for (const CacheEvent& event : log)
    if (event.kind == CacheEventKind::registered) keys.emplace_back(event.block, event.num_tokens);
  log.clear();
  return keys;
}

// (from, to) of the step's copies. The step has then been handed out.
std::vector<std::pair<std::int32_t, std::int32_t>> copies_of_step(KVCacheManager& manager) {
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  const KVCacheManager::BlockCopies copies = manager.take_block_copies();
  for (const PendingCopy& copy : copies.copies) pairs.emplace_back(copy.source_block, copy.block);
  manager.free_blocks(copies);
  manager.new_step_starts();
  return pairs;
}

// A prompt of 21 tokens in chunks of 16, 4 and 1.
TestRequest run_prompt(KVCacheManager& manager) {
  TestRequest request = a_request(0, 21, 0, 2);
  for (const std::int32_t chunk : {16, 4, 1}) {
    schedule(manager, request, chunk);
    copies_of_step(manager);
  }
  return request;
}

TEST(HitsInsideBlocks, APromptRegistersItsLastHashBlock) {
  CacheEventLog log;
  KVCacheManager manager = manager_of_release(&log);
  TestRequest request = a_request(0, 21, 0, 2);
  schedule(manager, request, 16);
  EXPECT_THAT(registered(log), UnorderedElementsAre(Pair(1, 8), Pair(2, 16), Pair(3, 16)));
  schedule(manager, request, 4);
  EXPECT_THAT(registered(log), UnorderedElementsAre(Pair(4, 20), Pair(5, 20)));
  EXPECT_THAT(manager.block_ids({0}, 0), ElementsAre(1, 2, 4));
  EXPECT_THAT(manager.block_ids({0}, 1), ElementsAre(0, 3, 5));
}

TEST(HitsInsideBlocks, ARunningRequestLeavesItsTailToACopy) {
  KVCacheManager manager = manager_of_release(nullptr);
  TestRequest request = a_request(0, 21, 0, 2);
  schedule(manager, request, 16);
  schedule(manager, request, 4);
  const std::int32_t free = manager.num_free_blocks();
  schedule(manager, request, 1);
  EXPECT_THAT(copies_of_step(manager), ElementsAre(Pair(5, 6)));
  EXPECT_THAT(manager.block_ids({0}, 1), ElementsAre(0, 0, 5));
  EXPECT_EQ(manager.pool().key_tokens(6), 20);
  EXPECT_EQ(manager.pool().key_tokens(5), 0);
  EXPECT_EQ(manager.pool().ref_cnt(6), 0);         // the prefix cache alone holds it
  EXPECT_EQ(manager.num_free_blocks(), free + 1);  // block 3 is not needed any more
}

TEST(HitsInsideBlocks, AResendEndsAtTheLastHashBlock) {
  KVCacheManager manager = manager_of_release(nullptr);
  run_prompt(manager);
  const CacheHit hit = manager.get_computed_blocks(a_request(1, 21, 0, 2).view()).value();
  EXPECT_EQ(hit.num_hit_tokens, 20);
  EXPECT_THAT(hit.blocks(0), ElementsAre(1, 2, 4));
  EXPECT_THAT(hit.blocks(1), ElementsAre(0, 0, 6));
}

TEST(HitsInsideBlocks, ASharedTailIsCopiedFirst) {
  KVCacheManager manager = manager_of_release(nullptr);
  run_prompt(manager);
  EXPECT_TRUE(try_admit(manager, a_request(1, 21, 4, 2), 5).granted());
  EXPECT_THAT(copies_of_step(manager), ElementsAre(Pair(4, 7), Pair(6, 9)));
  EXPECT_THAT(manager.block_ids({1}, 0), ElementsAre(1, 2, 7, 8));
  EXPECT_THAT(manager.block_ids({1}, 1), ElementsAre(0, 0, 9, 10));
  EXPECT_EQ(manager.pool().ref_cnt(7), 1);
  EXPECT_EQ(manager.pool().ref_cnt(6), 0);
}

TEST(HitsInsideBlocks, NobodyHitsATailInTheStepThatCopiesIt) {
  KVCacheManager manager = manager_of_release(nullptr);
  TestRequest request = a_request(0, 21, 0, 2);
  for (const std::int32_t chunk : {16, 4}) {
    schedule(manager, request, chunk);
    copies_of_step(manager);
  }
  schedule(manager, request, 1);
  EXPECT_EQ(try_admit(manager, a_request(1, 21, 0, 2), 1).refusal,
            AllocationRefusal::hit_cached_this_step);
  copies_of_step(manager);
  EXPECT_TRUE(try_admit(manager, a_request(1, 21, 0, 2), 1).granted());
}

TEST(HitsInsideBlocks, AllReferencesOfCopiesAreGivenBack) {
  KVCacheManager manager = manager_of_release(nullptr);
  run_prompt(manager);
  ASSERT_TRUE(try_admit(manager, a_request(1, 21, 4, 2), 5).granted());
  copies_of_step(manager);
  manager.free({0});
  manager.free({1});
  EXPECT_EQ(manager.num_free_blocks(), 29);
  EXPECT_TRUE(manager.reset_prefix_cache());
  EXPECT_EQ(manager.pool().num_cached_hashes(), 0);
}

// One chunk of 30 tokens: the state after 28 goes to column 2, before the running column.
TEST(PrefillCheckpoint, ReservesTheColumnBeforeTheRunningOne) {
  CacheEventLog log;
  KVCacheManager manager = manager_of_release(&log, /*checkpoint_blocks=*/1);
  TestRequest request = a_request(0, 30, 0, 2);
  schedule(manager, request, 30);
  EXPECT_THAT(manager.block_ids({0}, 1), ElementsAre(0, 0, 5, 6));
  EXPECT_EQ(manager.checkpoint({0}, 1), std::pair(28, 2));
  EXPECT_EQ(manager.pool().key_tokens(5), 28);
  const CacheHit hit = manager.get_computed_blocks(a_request(1, 30, 0, 2).view()).value();
  EXPECT_EQ(hit.num_hit_tokens, 28);
  EXPECT_THAT(hit.blocks(1), ElementsAre(0, 0, 0, 5));
}

TEST(PrefillCheckpoint, LayersThatCannotStoreOneReserveNothing) {
  KVCacheManager manager = manager_of_release(nullptr);
  TestRequest request = a_request(0, 30, 0, 2);
  schedule(manager, request, 30);
  EXPECT_THAT(manager.block_ids({0}, 1), ElementsAre(0, 0, 0, 5));
  EXPECT_EQ(manager.checkpoint({0}, 1), std::pair(0, -1));
}

}  // namespace
}  // namespace hybridscope::test::hits_inside_blocks_test
