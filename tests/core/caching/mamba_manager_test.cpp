#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/caching/block_pool_policies.h"
#include "core/caching/cache_events.h"
#include "core/caching/mamba_manager.h"
#include "core/caching/manager_policies.h"
#include "core/caching/retention.h"
#include "core/model/kv_cache_spec.h"

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

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Of the first 6 blocks of 8 tokens.
std::vector<std::int32_t> kept(const RetentionRule& rule, const CachedPrompt& prompt,
                               bool drops_eagle_block = false) {
  const RetainedStates states(rule, prompt, 8, drops_eagle_block);
  std::vector<std::int32_t> columns;
  for (std::int32_t column = 0; column < 6; ++column)
    if (states.keeps(column)) columns.push_back(column);
  return columns;
}

RetentionRule interval(std::int32_t tokens, ReachableBoundaries boundaries) {
  return {
      .interval = tokens, .boundaries = boundaries, .scheduler_block_size = 8, .hit_alignment = 8};
}

TEST(Retention, WithoutAnIntervalEveryStateIsKept) {
  EXPECT_THAT(kept({}, {.num_prompt_tokens = 18}), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Retention, AnIntervalKeepsItsOwnGrid) {
  using enum ReachableBoundaries;
  EXPECT_THAT(kept(interval(16, prompt_end), {.num_prompt_tokens = 5}), ElementsAre(1, 3, 5));
  EXPECT_THAT(kept(interval(8, prompt_end), {.num_prompt_tokens = 5}),
              ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(kept(interval(0, prompt_end), {.num_prompt_tokens = 5}), IsEmpty());
}

// The prompt has 18 tokens; another prefix of 32 is shared without a state.
TEST(Retention, EachReleaseHasItsBoundaries) {
  using enum ReachableBoundaries;
  const CachedPrompt prompt{.num_prompt_tokens = 18, .shared_prefix_boundary = 32};
  EXPECT_THAT(kept(interval(0, prompt_end), prompt), ElementsAre(1));
  EXPECT_THAT(kept(interval(0, prompt_end_and_junction), prompt), ElementsAre(1, 3));
  EXPECT_THAT(kept(interval(0, on_hit_grid), prompt), ElementsAre(1, 3));
  RetentionRule replayed = interval(0, replay);
  EXPECT_THAT(kept(replayed, prompt), ElementsAre(1, 3));
  replayed.eagle_block_drop = true;
  EXPECT_THAT(kept(replayed, prompt, true), ElementsAre(0, 3));
  replayed.boundaries = replay_and_block_before_junction;
  EXPECT_THAT(kept(replayed, prompt, true), ElementsAre(0, 2, 3));
  EXPECT_THAT(kept(replayed, prompt, false), ElementsAre(0, 3));
}

// A prompt of whole blocks: a resend hits 8 tokens less than one that goes on.
TEST(Retention, AResendAndAnExtensionEndTheirHitsApart) {
  RetentionRule rule = interval(0, ReachableBoundaries::replay);
  rule.eagle_block_drop = true;
  EXPECT_THAT(kept(rule, {.num_prompt_tokens = 24}, true), ElementsAre(0, 1));
}

// 27 tokens are rounded to 24 where hits end every 8 tokens, and to 16 by the scheduler block size.
TEST(Retention, BoundariesAreRoundedToWhereHitsEnd) {
  RetentionRule rule = interval(0, ReachableBoundaries::on_hit_grid);
  rule.scheduler_block_size = 16;
  rule.hit_alignment = 8;
  EXPECT_THAT(kept(rule, {.num_prompt_tokens = 28}), ElementsAre(2));
  rule.boundaries = ReachableBoundaries::prompt_end_and_junction;
  EXPECT_THAT(kept(rule, {.num_prompt_tokens = 28}), ElementsAre(1));
}

TEST(CacheHit, TheJunctionIsTheEndOfTheLongestHit) {
  CacheHit hit;
  hit.num_hit_tokens = 8;
  EXPECT_EQ(hit.shared_prefix_boundary(), 0);
  hit.num_uncached_common_prefix_tokens = 0;
  EXPECT_EQ(hit.shared_prefix_boundary(), 0);
  hit.num_uncached_common_prefix_tokens = 16;
  EXPECT_EQ(hit.shared_prefix_boundary(), 24);
}

TEST(PrefillCheckpoint, TheLastPositionIsWhatAResendHits) {
  EXPECT_EQ(last_replay_position(100, 8, {}), 96);
  EXPECT_EQ(last_replay_position(16, 8, {}), 8);
  EXPECT_EQ(last_replay_position(18, 8, {.num_hash_lookahead_tokens = 3}), 8);
  EXPECT_EQ(last_replay_position(16, 8, {.eagle_block_drop = true}), 8);
  EXPECT_EQ(
      last_replay_position(16, 8, {.eagle_block_drop = true, .leaves_a_token_with_drop = true}), 0);
  EXPECT_EQ(last_replay_position(0, 8, {}), 0);
}

TEST(PrefillCheckpoint, IsStoredOnTheGridOfTheKernel) {
  const PrefillChunk chunk{.start = 0, .end = 100, .block_size = 64, .hash_block_size = 8};
  EXPECT_TRUE(can_checkpoint(chunk, 96, 16));
  EXPECT_FALSE(can_checkpoint(chunk, 88, 16));
  EXPECT_TRUE(can_checkpoint(chunk, 88, 1));
  EXPECT_FALSE(can_checkpoint(chunk, 100, 1));  // the chunk's own end
  EXPECT_FALSE(can_checkpoint(chunk, 96, 0));   // the layer cannot
  EXPECT_FALSE(can_checkpoint({.start = 0, .end = 60, .block_size = 64, .hash_block_size = 8}, 56,
                              1));  // there is no column before the last
  EXPECT_FALSE(can_checkpoint({.start = 4, .end = 100, .block_size = 64, .hash_block_size = 8}, 96,
                              1));  // off the hash grid
}

using testing::IsEmpty;

RetentionRule rule_of(ReachableBoundaries boundaries, bool drop = false) {
  return {.interval = 0,
          .boundaries = boundaries,
          .scheduler_block_size = 8,
          .hit_alignment = 8,
          .eagle_block_drop = drop};
}

// A prompt of 18 tokens is hit up to 16 when it is sent again; others share 26 of its tokens.
TEST(KeptBoundaries, AreTheEndOfThePromptAndTheJunction) {
  using enum ReachableBoundaries;
  const CachedPrompt prompt{.num_prompt_tokens = 18, .shared_prefix_boundary = 24};
  EXPECT_THAT(kept_boundaries(rule_of(prompt_end), prompt, 8, false),
              ElementsAre(KeptBoundary{KeptFor::prompt_end, 16}));
  EXPECT_THAT(
      kept_boundaries(rule_of(prompt_end_and_junction), prompt, 8, false),
      ElementsAre(KeptBoundary{KeptFor::prompt_end, 16}, KeptBoundary{KeptFor::junction, 24}));
}

// 24 tokens: the resend hits 8 and a longer prompt 16, because the last block found is dropped.
TEST(KeptBoundaries, WithADroppedBlockThereAreTwoEnds) {
  using enum ReachableBoundaries;
  const CachedPrompt prompt{.num_prompt_tokens = 24, .shared_prefix_boundary = 40};
  EXPECT_THAT(
      kept_boundaries(rule_of(replay_and_block_before_junction, true), prompt, 8, true),
      ElementsAre(KeptBoundary{KeptFor::prompt_end, 8}, KeptBoundary{KeptFor::longer_prompt, 16},
                  KeptBoundary{KeptFor::junction, 40},
                  KeptBoundary{KeptFor::block_before_junction, 32}));
}

TEST(KeptBoundaries, APromptThatEndsInItsFirstBlockKeepsNone) {
  EXPECT_THAT(
      kept_boundaries(rule_of(ReachableBoundaries::prompt_end), {.num_prompt_tokens = 8}, 8, false),
      IsEmpty());
  EXPECT_THAT(kept_boundaries({}, {.num_prompt_tokens = 18}, 8, false), IsEmpty());
}

TEST(KeptBoundaries, ThePeriodIsInWholeBlocks) {
  RetentionRule rule = rule_of(ReachableBoundaries::replay);
  EXPECT_EQ(kept_period(rule, 8), 0);
  rule.interval = 16;
  EXPECT_EQ(kept_period(rule, 8), 16);
  EXPECT_EQ(kept_period(rule, 16), 16);
  EXPECT_EQ(kept_period(rule, 32), 32);
}

// For every release's rule, prompt length and junction: a state is kept iff a reason says so.
TEST(KeptBoundaries, AreThoseOfTheMask) {
  using enum ReachableBoundaries;
  for (const auto boundaries :
       {prompt_end, prompt_end_and_junction, on_hit_grid, replay, replay_and_block_before_junction})
    for (const bool drop : {false, true})
      for (const std::int32_t interval : {0, 16, 32})
        for (const std::int32_t hit_alignment : {2, 8, 16})
          for (std::int32_t tokens = 1; tokens < 60; ++tokens)
            for (const std::int32_t junction : {0, 8, 24, 40}) {
              RetentionRule rule = rule_of(boundaries, drop);
              rule.interval = interval;
              rule.scheduler_block_size = 16;
              rule.hit_alignment = hit_alignment;
              const CachedPrompt prompt{.num_prompt_tokens = tokens,
                                        .shared_prefix_boundary = junction};
              const RetainedStates mask(rule, prompt, 8, drop);
              const auto kept = kept_boundaries(rule, prompt, 8, drop);
              const std::int32_t period = kept_period(rule, 8);
              for (std::int32_t column = 0; column < 9; ++column) {
                const std::int32_t end = (column + 1) * 8;
                const bool told =
                    (period > 0 && end % period == 0) ||
                    std::ranges::find(kept, end, &KeptBoundary::num_tokens) != kept.end();
                ASSERT_EQ(mask.keeps(column), told)
                    << "boundaries " << int(boundaries) << " drop " << drop << " interval "
                    << interval << " alignment " << hit_alignment << " prompt " << tokens
                    << " junction " << junction << " column " << column;
              }
            }
}

}  // namespace

}  // namespace hybridscope::mamba_manager_test
