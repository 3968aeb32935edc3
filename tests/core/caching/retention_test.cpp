#include "core/caching/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <vector>

#include "core/caching/cache_hit.h"
#include "core/caching/retention_policies.h"
#include "core/model/prefill_checkpoint.h"

namespace hybridscope::retention_test {
namespace {

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

using testing::ElementsAre;
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

}  // namespace hybridscope::retention_test
