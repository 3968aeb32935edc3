#include "core/caching/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/caching/retention_policies.h"

namespace hybridscope::kept_boundaries_test {
namespace {

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
}  // namespace hybridscope::kept_boundaries_test
