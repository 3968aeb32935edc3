#include <gtest/gtest.h>

#include "core/engine/scheduler.h"

namespace hybridscope::test::aligned_split_test {
namespace {

AlignedSplitInputs prompt_of(std::int32_t num_tokens, std::int32_t computed,
                             std::int32_t num_new_tokens) {
  return {.num_computed_tokens = computed,
          .num_prompt_tokens = num_tokens,
          .num_tokens = num_tokens,
          .num_new_tokens = num_new_tokens,
          .block_size = 4};
}

// The worked example: prompt 10, budget 7 (semantics: aligned-split).
TEST(MambaBlockAlignedSplit, TheLastCachePositionEndsAChunk) {
  EXPECT_EQ(mamba_block_aligned_split(prompt_of(10, 0, 7)), 4);
  EXPECT_EQ(mamba_block_aligned_split(prompt_of(10, 4, 6)), 4);
  EXPECT_EQ(mamba_block_aligned_split(prompt_of(10, 8, 2)), 2);
}

TEST(MambaBlockAlignedSplit, LessThanABlockIsNotNow) {
  EXPECT_EQ(mamba_block_aligned_split(prompt_of(10, 0, 3)), 0);
}

TEST(MambaBlockAlignedSplit, EagleKeepsTheLastBlockForTheDraftModel) {
  AlignedSplitInputs inputs = prompt_of(10, 0, 7);
  inputs.use_eagle = true;
  EXPECT_EQ(mamba_block_aligned_split(inputs), 4);
  inputs.num_computed_tokens = 4;
  inputs.num_new_tokens = 6;
  EXPECT_EQ(mamba_block_aligned_split(inputs), 6);
}

TEST(MambaBlockAlignedSplit, DecodesAreLeftAlone) {
  EXPECT_EQ(mamba_block_aligned_split(prompt_of(10, 10, 3)), 3);
}

TEST(MambaBlockAlignedSplit, AHitCountsAsComputed) {
  AlignedSplitInputs inputs = prompt_of(10, 0, 6);
  inputs.num_new_local_computed_tokens = 4;
  EXPECT_EQ(mamba_block_aligned_split(inputs), 4);
}

TEST(MambaBlockAlignedSplit, AnUncachedCommonPrefixEndsAChunk) {
  AlignedSplitInputs inputs = prompt_of(30, 0, 20);
  inputs.num_uncached_common_prefix_tokens = 9;
  EXPECT_EQ(mamba_block_aligned_split(inputs), 8);
  inputs.num_uncached_common_prefix_tokens = 3;
  EXPECT_EQ(mamba_block_aligned_split(inputs), 20);
}

// Past the last cache position the reference lets a chunk end anywhere (known bug 1).
TEST(MambaBlockAlignedSplitOnGrid, AChunkShortOfTheLastTokenEndsOnTheGrid) {
  EXPECT_EQ(mamba_block_aligned_split(prompt_of(11, 8, 2)), 2);
  EXPECT_EQ(mamba_block_aligned_split_on_grid(prompt_of(11, 8, 2)), 0);
  EXPECT_EQ(mamba_block_aligned_split_on_grid(prompt_of(11, 8, 3)), 3);
  AlignedSplitInputs eagle = prompt_of(14, 0, 11);
  eagle.use_eagle = true;
  EXPECT_EQ(mamba_block_aligned_split(eagle), 8);
  eagle.num_computed_tokens = 8;
  eagle.num_new_tokens = 5;
  EXPECT_EQ(mamba_block_aligned_split(eagle), 5);
  EXPECT_EQ(mamba_block_aligned_split_on_grid(eagle), 4);
}

TEST(MambaBlockAlignedSplitOnGrid, AStartOffTheGridStopsAtTheNextBoundary) {
  EXPECT_EQ(mamba_block_aligned_split_on_grid(prompt_of(20, 6, 9)), 2);
  EXPECT_EQ(mamba_block_aligned_split(prompt_of(20, 6, 9)), 8);
}

TEST(MambaBlockAlignedSplitOnGrid, AStartOffTheGridThatDoesNotReachTheBoundaryWaits) {
  EXPECT_EQ(mamba_block_aligned_split_on_grid(prompt_of(20, 5, 2)), 0);
}

TEST(MambaBlockAlignedSplitOnGrid, AStartOffTheGridMayEndAtTheLastTokenBeforeTheBoundary) {
  EXPECT_EQ(mamba_block_aligned_split_on_grid(prompt_of(7, 5, 2)), 2);
  EXPECT_EQ(mamba_block_aligned_split_on_grid(prompt_of(7, 5, 1)), 0);
}

TEST(MambaBlockAlignedSplitOnGrid, AResumedRequestRecomputesItsOutputOnTheGridToo) {
  AlignedSplitInputs inputs = prompt_of(6, 8, 3);
  inputs.num_tokens = 14;
  EXPECT_EQ(mamba_block_aligned_split_on_grid(inputs), 0);
  inputs.num_new_tokens = 5;
  EXPECT_EQ(mamba_block_aligned_split_on_grid(inputs), 4);
}

}  // namespace
}  // namespace hybridscope::test::aligned_split_test
