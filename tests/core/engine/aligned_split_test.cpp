#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/engine/aligned_split.h"
#include "core/engine/aligned_split_policies.h"

namespace hybridscope::test::aligned_split_test {
namespace {

AlignedSplitInputs prompt_of(std::int32_t num_tokens, std::int32_t computed,
                             std::int32_t num_new_tokens) {
  return {.num_computed_tokens = computed,
          .num_prompt_tokens = num_tokens,
          .num_tokens = num_tokens,
          .num_new_tokens = num_new_tokens};
}

AlignedSplitSettings blocks_of(std::int32_t block_size) {
  return {.block_size = block_size,
          .hash_block_size = block_size,
          .scheduler_block_size = block_size,
          .max_tokens_a_step = 64};
}

AlignedSplitSettings with_eagle(AlignedSplitSettings settings) {
  settings.use_eagle = true;
  settings.eagle_block_drop = true;
  return settings;
}

std::int32_t reference(const AlignedSplitInputs& inputs,
                       const AlignedSplitSettings& settings = blocks_of(4)) {
  return mamba_block_aligned_split(AlignedSplit::until_last_cache_position, settings, inputs);
}

std::int32_t on_grid(const AlignedSplitInputs& inputs,
                     const AlignedSplitSettings& settings = blocks_of(4)) {
  return mamba_block_aligned_split(AlignedSplit::every_chunk_on_grid, settings, inputs);
}

// The worked example: prompt 10, budget 7 (semantics: aligned-split).
TEST(MambaBlockAlignedSplit, TheLastCachePositionEndsAChunk) {
  EXPECT_EQ(reference(prompt_of(10, 0, 7)), 4);
  EXPECT_EQ(reference(prompt_of(10, 4, 6)), 4);
  EXPECT_EQ(reference(prompt_of(10, 8, 2)), 2);
}

TEST(MambaBlockAlignedSplit, LessThanABlockIsNotNow) {
  EXPECT_EQ(reference(prompt_of(10, 0, 3)), 0);
}

TEST(MambaBlockAlignedSplit, EagleKeepsTheLastBlockForTheDraftModel) {
  AlignedSplitInputs inputs = prompt_of(10, 0, 7);
  const AlignedSplitSettings eagle = with_eagle(blocks_of(4));
  EXPECT_EQ(reference(inputs, eagle), 4);
  inputs.num_computed_tokens = 4;
  inputs.num_new_tokens = 6;
  EXPECT_EQ(reference(inputs, eagle), 6);
}

TEST(MambaBlockAlignedSplit, DecodesAreLeftAlone) { EXPECT_EQ(reference(prompt_of(10, 10, 3)), 3); }

TEST(MambaBlockAlignedSplit, AHitCountsAsComputed) {
  AlignedSplitInputs inputs = prompt_of(10, 0, 6);
  inputs.num_new_local_computed_tokens = 4;
  EXPECT_EQ(reference(inputs), 4);
}

TEST(MambaBlockAlignedSplit, AnUncachedCommonPrefixEndsAChunk) {
  AlignedSplitInputs inputs = prompt_of(30, 0, 20);
  inputs.shared_prefix_boundary = 9;
  EXPECT_EQ(reference(inputs), 8);
  inputs.shared_prefix_boundary = 3;
  EXPECT_EQ(reference(inputs), 20);
}

// Past the last cache position the reference lets a chunk end anywhere (known bug 1).
TEST(MambaBlockAlignedSplitOnGrid, AChunkShortOfTheLastTokenEndsOnTheGrid) {
  EXPECT_EQ(reference(prompt_of(11, 8, 2)), 2);
  EXPECT_EQ(on_grid(prompt_of(11, 8, 2)), 0);
  EXPECT_EQ(on_grid(prompt_of(11, 8, 3)), 3);
  const AlignedSplitSettings eagle = with_eagle(blocks_of(4));
  EXPECT_EQ(reference(prompt_of(14, 0, 11), eagle), 8);
  EXPECT_EQ(reference(prompt_of(14, 8, 5), eagle), 5);
  EXPECT_EQ(on_grid(prompt_of(14, 8, 5), eagle), 4);
}

TEST(MambaBlockAlignedSplitOnGrid, AStartOffTheGridStopsAtTheNextBoundary) {
  EXPECT_EQ(on_grid(prompt_of(20, 6, 9)), 2);
  EXPECT_EQ(reference(prompt_of(20, 6, 9)), 8);
}

TEST(MambaBlockAlignedSplitOnGrid, AStartOffTheGridThatDoesNotReachTheBoundaryWaits) {
  EXPECT_EQ(on_grid(prompt_of(20, 5, 2)), 0);
}

TEST(MambaBlockAlignedSplitOnGrid, AStartOffTheGridMayEndAtTheLastTokenBeforeTheBoundary) {
  EXPECT_EQ(on_grid(prompt_of(7, 5, 2)), 2);
  EXPECT_EQ(on_grid(prompt_of(7, 5, 1)), 0);
}

TEST(MambaBlockAlignedSplitOnGrid, AResumedRequestRecomputesItsOutputOnTheGridToo) {
  AlignedSplitInputs inputs = prompt_of(6, 8, 3);
  inputs.num_tokens = 14;
  EXPECT_EQ(on_grid(inputs), 0);
  inputs.num_new_tokens = 5;
  EXPECT_EQ(on_grid(inputs), 4);
}

// One prompt and one chunk, split by the rule of every release.
struct ReleaseRow {
  const char* what;
  AlignedSplitSettings settings;
  AlignedSplitInputs inputs;
  std::array<std::int32_t, 6> expected;  // 0.24.0, 0.26.0, 0.27.1, 0.29.0, 0.30.0, 0.32.0
};

constexpr std::array kReleaseRules = {AlignedSplit::until_last_cache_position,
                                      AlignedSplit::stops_until_last_cache_position,
                                      AlignedSplit::stops_on_grid,
                                      AlignedSplit::stops_but_with_checkpoints,
                                      AlignedSplit::stops_with_replay,
                                      AlignedSplit::stops_before_the_last_token};

AlignedSplitSettings hashes_of_2(AlignedSplitSettings settings) {
  settings.hash_block_size = 2;
  settings.fine_grained_hits = true;
  return settings;
}

AlignedSplitSettings at_most_3(AlignedSplitSettings settings) {
  settings.max_tokens_a_step = 3;
  return settings;
}

AlignedSplitSettings with_checkpoints(AlignedSplitSettings settings) {
  settings.has_prefill_checkpoint_blocks = true;
  settings.prefill_checkpoint_alignment = 1;
  return settings;
}

TEST(MambaBlockAlignedSplitOfReleases, EachHasItsOwnStops) {
  const AlignedSplitSettings plain = blocks_of(8);
  const AlignedSplitSettings eagle = with_eagle(plain);
  for (const ReleaseRow& row : std::vector<ReleaseRow>{
           {"eagle, short chunk", eagle, prompt_of(10, 0, 3), {3, 3, 0, 0, 0, 0}},
           {"eagle, off the grid", eagle, prompt_of(10, 3, 7), {7, 7, 5, 5, 5, 5}},
           {"eagle, past the last position", eagle, prompt_of(18, 8, 5), {5, 5, 0, 0, 0, 0}},
           {"block wider than a step", at_most_3(plain), prompt_of(18, 3, 3), {0, 0, 3, 3, 3, 3}},
           {"the piece that ends it", at_most_3(plain), prompt_of(18, 6, 3), {0, 2, 2, 2, 2, 2}},
           {"whole prompt on the grid", plain, prompt_of(16, 0, 16), {16, 16, 16, 16, 16, 8}},
           {"tail on the hash grid", hashes_of_2(plain), prompt_of(21, 16, 5), {5, 4, 4, 4, 4, 4}},
           {"tail with eagle", hashes_of_2(eagle), prompt_of(21, 8, 13), {13, 12, 12, 12, 10, 10}},
           {"checkpoints", with_checkpoints(plain), prompt_of(30, 0, 30), {24, 24, 24, 30, 30, 30}},
           {"checkpoints with eagle",
            with_checkpoints(eagle),
            prompt_of(30, 0, 30),
            {16, 16, 16, 16, 30, 30}}})
    for (std::size_t release = 0; release < kReleaseRules.size(); ++release)
      EXPECT_EQ(mamba_block_aligned_split(kReleaseRules[release], row.settings, row.inputs),
                row.expected[release])
          << row.what << ", rule " << release;
}

TEST(MambaBlockAlignedSplitOfReleases, FromHashesThatLookAheadATokenMoreIsLeft) {
  AlignedSplitSettings settings = blocks_of(8);
  settings.use_eagle = true;
  settings.num_hash_lookahead_tokens = 1;
  EXPECT_EQ(mamba_block_aligned_split(AlignedSplit::stops_before_the_last_token, settings,
                                      prompt_of(18, 0, 18)),
            16);
}

TEST(MambaBlockAlignedSplitOfReleases, TheEndOfASharedPrefixIsAStop) {
  AlignedSplitInputs inputs = prompt_of(40, 0, 40);
  inputs.shared_prefix_boundary = 20;
  AlignedSplitSettings settings = blocks_of(8);
  EXPECT_EQ(mamba_block_aligned_split(AlignedSplit::stops_on_grid, settings, inputs), 16);
  settings.shared_prefix_checkpoint = true;
  EXPECT_EQ(mamba_block_aligned_split(AlignedSplit::stops_with_replay, settings, inputs), 20);
}

}  // namespace
}  // namespace hybridscope::test::aligned_split_test
