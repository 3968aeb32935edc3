#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/base/math.h"
#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/kv_cache_manager.h"
#include "core/caching/manager_policies.h"
#include "tests/core/caching/cache_test_support.h"

namespace hybridscope::test::hybrid_coordinator_test {
namespace {

using testing::ElementsAre;

// A coordinator over a cache whose contents are put in by hand.
struct Fixture {
  std::vector<KVCacheGroup> groups;
  std::int32_t hash_block_size;
  HybridCoordinator coordinator;
  BlockPool pool{{.num_blocks = 500, .policies = PolicySet{BlockRegistration::at_allocation}},
                 nullptr};
  std::vector<BlockHash> hashes = a_request(0, 400, 0, 1).chain.block_hashes;
  std::int32_t next_block = 1;

  Fixture(std::vector<KVCacheGroup> cache_groups, CoordinatorConfig config)
      : groups(std::move(cache_groups)),
        hash_block_size(config.hash_block_size),
        coordinator(create(groups, config)) {
    hashes = a_request(0, 400, 0, hash_block_size).chain.block_hashes;
  }
  static HybridCoordinator create(const std::vector<KVCacheGroup>& groups,
                                  CoordinatorConfig config) {
    config.groups = groups;
    return HybridCoordinator::create(config).value();
  }
  std::int32_t put(std::int32_t group, std::int32_t column) {
    const GroupParameters parameters{
        .group = group,
        .block_size = groups[static_cast<std::size_t>(group)].block_size(),
        .hash_block_size = hash_block_size};
    pool.cache_full_block({.block = next_block,
                           .owner = {.request = {}, .group = group},
                           .num_tokens = 1,
                           .block_hash = parameters.block_hash(hashes, column)});
    return next_block++;
  }
  CacheHit find(std::int32_t max_cache_hit_length) const {
    return coordinator.find_longest_cache_hit(pool, hashes, max_cache_hit_length);
  }
};

PolicySet with_lookahead(MambaEagleLookahead lookahead) {
  PolicySet policies;
  policies.set(lookahead);
  return policies;
}

// Known bug 2: three full-attention blocks and the states after 8 and 12 tokens are cached, the
// consumer has 15 tokens.
CacheHit eagle_hit(MambaEagleLookahead lookahead) {
  Fixture f({full_attention_group(4), mamba_group(4)}, {.use_eagle = true,
                                                        .scheduler_block_size = 4,
                                                        .hash_block_size = 4,
                                                        .policies = with_lookahead(lookahead)});
  for (std::int32_t column = 0; column < 3; ++column) f.put(0, column);  // blocks 1, 2, 3
  f.put(1, 1);                                                           // block 4
  f.put(1, 2);                                                           // block 5
  return f.find(14);
}

TEST(HybridCoordinator, LongerLimitOfMambaGroupsInflatesTheHit) {
  const CacheHit hit = eagle_hit(MambaEagleLookahead::longer_limit);
  EXPECT_EQ(hit.num_hit_tokens, 12);
  EXPECT_THAT(hit.blocks(0), ElementsAre(1, 2));
  EXPECT_THAT(hit.blocks(1), ElementsAre(0, 0, 5));
}

// No release has both: a hit longer than what attention holds would copy a block that is not there.
TEST(HybridCoordinator, HitsInsideBlocksGiveMambaGroupsNoLongerLimit) {
  PolicySet policies = with_lookahead(MambaEagleLookahead::longer_limit);
  policies.set(HitsInsideBlocks::with_smaller_hash_blocks);
  const auto looks_ahead = [&](std::int32_t hash_block_size) {
    const Fixture f({full_attention_group(4), mamba_group(4)}, {.use_eagle = true,
                                                                .scheduler_block_size = 4,
                                                                .hash_block_size = hash_block_size,
                                                                .policies = policies});
    return f.coordinator.mamba_groups_look_ahead();
  };
  EXPECT_TRUE(looks_ahead(4));
  EXPECT_FALSE(looks_ahead(2));
}

TEST(HybridCoordinator, WithoutLookaheadOfMambaGroupsEveryGroupCoversTheHit) {
  const CacheHit hit = eagle_hit(MambaEagleLookahead::none);
  EXPECT_EQ(hit.num_hit_tokens, 8);
  EXPECT_THAT(hit.blocks(0), ElementsAre(1, 2));
  EXPECT_THAT(hit.blocks(1), ElementsAre(0, 4));
}

TEST(HybridCoordinator, TheExplanationNamesWhatShortenedEachGroup) {
  const CacheHit hit = eagle_hit(MambaEagleLookahead::none);
  EXPECT_EQ(
      hit.explanation,
      (LookupExplanation{
          .max_cache_hit_length = 14,
          .longest_hit_length = 8,
          .num_rounds = 1,
          .groups = {
              {.present_length = 12, .hit_length = 8, .stop = LookupStop::eagle_drop},
              {.present_length = 8, .hit_length = 8, .stop = LookupStop::cut_to_other_group}}}));
}

TEST(HybridCoordinator, TheExplanationNamesTheMissingBlock) {
  Fixture f({full_attention_group(4), mamba_group(4)},
            {.scheduler_block_size = 4, .hash_block_size = 4});
  f.put(0, 0);
  f.put(0, 1);
  f.put(0, 3);
  f.put(1, 0);
  const CacheHit hit = f.find(19);
  EXPECT_EQ(hit.num_hit_tokens, 4);
  EXPECT_EQ(hit.num_uncached_common_prefix_tokens, 4);
  const GroupLookup& full = hit.explanation.groups[0];
  EXPECT_EQ(full.hit_length, 8);
  EXPECT_EQ(full.miss_block, 2);
  EXPECT_EQ(full.stop, LookupStop::cut_to_other_group);
  const GroupLookup& mamba = hit.explanation.groups[1];
  EXPECT_EQ(mamba.hit_length, 4);
  EXPECT_EQ(mamba.miss_block, 1);
  EXPECT_EQ(mamba.stop, LookupStop::miss);
}

// Two full-attention specs and a mamba group that agrees on 8 tokens only.
CacheHit two_full_specs_hit(FullAttentionCut cut) {
  PolicySet policies;
  policies.set(cut);
  Fixture f({full_attention_group(8), full_attention_group(4), mamba_group(8)},
            {.scheduler_block_size = 8, .hash_block_size = 4, .policies = policies});
  f.put(0, 0);                                                           // block 1
  f.put(0, 1);                                                           // block 2
  for (std::int32_t column = 0; column < 4; ++column) f.put(1, column);  // blocks 3 to 6
  f.put(2, 0);                                                           // block 7
  return f.find(20);
}

TEST(HybridCoordinator, FirstSpecGroupCutLeavesOtherFullAttentionListsLonger) {
  const CacheHit hit = two_full_specs_hit(FullAttentionCut::first_spec_group);
  EXPECT_EQ(hit.num_hit_tokens, 8);
  EXPECT_THAT(hit.blocks(0), ElementsAre(1));
  EXPECT_THAT(hit.blocks(1), ElementsAre(3, 4, 5, 6));
}

TEST(HybridCoordinator, EveryGroupCutEndsAllFullAttentionListsAtTheHit) {
  const CacheHit hit = two_full_specs_hit(FullAttentionCut::every_group);
  EXPECT_EQ(hit.num_hit_tokens, 8);
  EXPECT_THAT(hit.blocks(0), ElementsAre(1));
  EXPECT_THAT(hit.blocks(1), ElementsAre(3, 4));
  EXPECT_THAT(hit.blocks(2), ElementsAre(7));
}

TEST(HybridCoordinator, CachesUpToTheSchedulerBlockAndEagleGroupsOneBlockFurther) {
  std::vector<KVCacheGroup> groups{full_attention_group(4), mamba_group(12)};
  groups[0].is_eagle_group = true;
  PolicySet policies;
  policies.set(HitsInsideBlocks::never);
  const Fixture f(groups, {.scheduler_block_size = 12, .hash_block_size = 4, .policies = policies});
  EXPECT_EQ(f.coordinator.num_tokens_to_cache(0, 27), 27);
  EXPECT_EQ(f.coordinator.num_tokens_to_cache(0, 31), 28);
  EXPECT_EQ(f.coordinator.num_tokens_to_cache(1, 31), 24);
  EXPECT_EQ(f.coordinator.num_tokens_to_cache(0, 11), 0);
}

// A recurrent block of 12 tokens can be hit inside, so every token counts.
TEST(HybridCoordinator, CachesEveryTokenWhereHitsEndInsideBlocks) {
  const Fixture f({full_attention_group(4), mamba_group(12)},
                  {.scheduler_block_size = 12, .hash_block_size = 4});
  EXPECT_EQ(f.coordinator.num_tokens_to_cache(0, 31), 31);
  EXPECT_EQ(f.coordinator.num_tokens_to_cache(1, 31), 31);
}

TEST(HybridCoordinator, OneGroupHasNoCommonPrefixHint) {
  Fixture f({full_attention_group(4)}, {.scheduler_block_size = 4, .hash_block_size = 4});
  f.put(0, 0);
  f.put(0, 1);
  const CacheHit hit = f.find(7);
  EXPECT_EQ(hit.num_hit_tokens, 4);
  EXPECT_EQ(hit.num_uncached_common_prefix_tokens, std::nullopt);
  EXPECT_EQ(hit.explanation.groups[0].stop, LookupStop::limit_reached);
}

TEST(HybridCoordinator, RefusesGroupsItCannotMatch) {
  const auto ok = [](const std::vector<KVCacheGroup>& groups, std::int32_t hash_block_size,
                     bool enable_caching = true) {
    return HybridCoordinator::create({.groups = groups,
                                      .enable_caching = enable_caching,
                                      .scheduler_block_size = 8,
                                      .hash_block_size = hash_block_size})
        .ok();
  };
  EXPECT_TRUE(ok({full_attention_group(4), mamba_group(4)}, 4));
  EXPECT_FALSE(ok({mamba_group(4), mamba_group(4)}, 4)) << "one spec";
  EXPECT_TRUE(ok({mamba_group(4), mamba_group(4)}, 4, false)) << "no cache, nothing to match";
  EXPECT_FALSE(ok({full_attention_group(6), mamba_group(4)}, 4)) << "not a multiple";
  EXPECT_FALSE(ok({full_attention_group(8)}, 4)) << "one group, other hash block size";
  EXPECT_FALSE(ok({full_attention_group(0), mamba_group(4)}, 4)) << "no block size";
}

// Under the safe policies every group's list ends with the block that holds the hit's last token,
// whatever is cached (semantics: I8).
TEST(HybridCoordinator, SafeHitsAreCoveredByEveryGroup) {
  int hits = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::vector<std::int32_t> sizes{4, 8, 12};
    std::vector<KVCacheGroup> groups{full_attention_group(sizes[random() % 3])};
    for (auto i = 1 + random() % 3; i > 0; --i) {
      const std::int32_t size = sizes[random() % 3];
      groups.push_back(random() % 3 == 0 ? full_attention_group(size) : mamba_group(size));
    }
    groups.push_back(mamba_group(sizes[random() % 3]));
    for (KVCacheGroup& group : groups) group.is_eagle_group = random() % 4 == 0;
    Fixture f(groups, {.use_eagle = random() % 2 == 0,
                       .scheduler_block_size = random() % 4 == 0 ? 8 : 24,
                       .hash_block_size = 4});
    for (std::size_t group = 0; group < groups.size(); ++group)
      for (std::int32_t column = 0; column < 96 / groups[group].block_size(); ++column)
        if (random() % 12 != 0) f.put(static_cast<std::int32_t>(group), column);
    const CacheHit hit = f.find(static_cast<std::int32_t>(random() % 100));
    for (std::size_t group = 0; group < groups.size(); ++group) {
      ASSERT_EQ(static_cast<std::int32_t>(hit.blocks(group).size()),
                cdiv(hit.num_hit_tokens, groups[group].block_size()))
          << "group " << group;
    }
    hits += hit.num_hit_tokens > 0 ? 1 : 0;
  }
  EXPECT_GT(hits, 300);
}

// Hits that end inside a block: blocks of 8 tokens, hash blocks of 2, one attention group and one
// mamba group, with the rules of the newest release.

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

}  // namespace hybridscope::test::hybrid_coordinator_test
