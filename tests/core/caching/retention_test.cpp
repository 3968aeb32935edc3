#include "core/caching/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hybridscope::retention_test
