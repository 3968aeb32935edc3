#include "sessions/explain/explain_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "tests/support/small_engine.h"

namespace hybridscope::explain_schedule_test {
namespace {

using ::testing::HasSubstr;

// Group 0 attention, group 1 mamba2, blocks of 8 tokens.
std::string lookup_text(const AdmissionLookup& lookup, std::int32_t scheduler_block_size = 8) {
  EngineConfig config = test::engine_config({});
  config.scheduler_block_size = scheduler_block_size;
  return explain_lookup(lookup, config, numbered_names());
}

AdmissionLookup lookup_of(GroupLookup attention, GroupLookup mamba, std::int32_t hit) {
  return {.request = {0},
          .num_hit_tokens = hit,
          .admitted = true,
          .explanation = {.max_cache_hit_length = 30,
                          .longest_hit_length = hit,
                          .num_rounds = 1,
                          .groups = {attention, mamba}}};
}

constexpr GroupLookup kMambaAt24 = {24, 24, -1, -1, LookupStop::limit_reached};

TEST(ExplainLookup, BothGroupsHaveAllThatCanBeHit) {
  EXPECT_EQ(lookup_text(lookup_of({24, 24, -1, -1, LookupStop::limit_reached}, kMambaAt24, 24)),
            "r0: hit of 24 tokens, at most 30 (its 31 known tokens - 1)\n"
            "group 0 has 24 tokens: no longer prefix of whole blocks of 8 fits into 30 tokens\n"
            "group 1 has the state after 24 tokens: no longer prefix of whole blocks of 8 fits "
            "into 30 tokens");
}

TEST(ExplainLookup, AMissNamesTheBlockAndItsTokens) {
  const std::string text =
      lookup_text(lookup_of({16, 16, 2, -1, LookupStop::miss}, {8, 8, 1, -1, LookupStop::miss}, 8));
  EXPECT_THAT(text, HasSubstr("group 0 has 16 tokens: block 2 (tokens 17..24) is not there"));
  EXPECT_THAT(text, HasSubstr("group 1 has the state after 8 tokens: the state after 16 tokens is "
                              "not there"));
}

TEST(ExplainLookup, AMambaGroupWithoutAnyState) {
  EXPECT_THAT(
      lookup_text(lookup_of({16, 16, 2, -1, LookupStop::miss}, {0, 0, 1, -1, LookupStop::miss}, 0)),
      HasSubstr("group 1 has no state: the state after 16 tokens is not there"));
}

TEST(ExplainLookup, ABlockLongerThanTheLimitIsNeverHit) {
  AdmissionLookup lookup = lookup_of({0, 0, -1, -1, LookupStop::limit_reached},
                                     {0, 0, -1, -1, LookupStop::limit_reached}, 0);
  lookup.explanation.max_cache_hit_length = 5;
  EXPECT_THAT(lookup_text(lookup),
              HasSubstr("group 1 has no state: no block of 8 tokens ends within 5 tokens"));
}

TEST(ExplainLookup, TheEagleDropGivesUpTheLastBlock) {
  EXPECT_THAT(lookup_text(lookup_of({24, 16, 3, -1, LookupStop::eagle_drop}, kMambaAt24, 16)),
              HasSubstr("group 0 has 24 tokens, can serve 16: block 3 (tokens 25..32) is not "
                        "there; the last block is computed again, because the draft model needs "
                        "its hidden states"));
}

TEST(ExplainLookup, AlignmentCutsToWholeSchedulerBlocks) {
  EXPECT_THAT(
      lookup_text(lookup_of({24, 16, -1, -1, LookupStop::alignment}, kMambaAt24, 16), 16),
      HasSubstr("group 0 has 24 tokens, can serve 16: cut to a multiple of scheduler_block_size "
                "16"));
}

TEST(ExplainLookup, AGroupWithMoreIsCutToTheOthers) {
  EXPECT_THAT(lookup_text(lookup_of({24, 24, -1, -1, LookupStop::cut_to_other_group},
                                    {8, 8, 2, -1, LookupStop::miss}, 8)),
              HasSubstr("group 0 has 24 tokens: cut to 8, because another group has no more"));
  EXPECT_THAT(lookup_text(lookup_of({8, 8, 1, -1, LookupStop::miss},
                                    {8, 8, -1, -1, LookupStop::cut_to_other_group}, 8)),
              HasSubstr("group 1 has the state after 8 tokens: no more was looked for, because "
                        "another group has no more"));
}

TEST(ExplainLookup, ByPolicyALaterKindOfAttentionKeepsItsBlocks) {
  EngineConfig config = test::engine_config({.num_attention_groups = 2});
  std::get<FullAttentionSpec>(config.kv_cache_config.groups[1].spec).block_size = 16;
  AdmissionLookup lookup = lookup_of({32, 32, -1, -1, LookupStop::cut_to_other_group},
                                     {32, 32, -1, -1, LookupStop::cut_to_other_group}, 16);
  lookup.explanation.groups.push_back({16, 16, 1, -1, LookupStop::miss});
  EXPECT_THAT(explain_lookup(lookup, config, numbered_names()),
              HasSubstr("group 1 has 32 tokens: cut to 16, because another group has no more"));
  config.policies.set(FullAttentionCut::first_spec_group);
  EXPECT_THAT(explain_lookup(lookup, config, numbered_names()),
              HasSubstr("group 0 has 32 tokens: cut to 16, because another group has no more\n"
                        "group 1 has 32 tokens: not cut to 16, although another group has no more "
                        "(full_attention_cut)"));
}

TEST(ExplainLookup, WithoutCachingThereIsNothingToFind) {
  EXPECT_THAT(lookup_text(lookup_of({}, {}, 0)),
              HasSubstr("group 0 has 0 tokens: prefix caching is off"));
}

TEST(ExplainLookup, AHitOfAPlannedBlockWaits) {
  AdmissionLookup lookup =
      lookup_of({8, 8, 1, 0, LookupStop::miss}, {8, 8, -1, -1, LookupStop::cut_to_other_group}, 8);
  lookup.admitted = false;
  lookup.explanation.num_rounds = 2;
  lookup.explanation.longest_hit_length = 24;
  const std::string text = lookup_text(lookup);
  EXPECT_THAT(text, HasSubstr("r0: hit of 8 tokens, at most 30 (its 31 known tokens - 1); the "
                              "groups agreed in 2 rounds; one group offered 24 on the way; not "
                              "admitted in this step"));
  EXPECT_THAT(text, HasSubstr("is not there; the block of column 0 is written in this very step, "
                              "so the hit waits"));
}

TEST(ExplainSkip, EveryReasonHasAClause) {
  EXPECT_EQ(explain_skip(SkipReason::no_token_budget),
            "too little of the token budget is left for it");
  EXPECT_EQ(explain_skip(SkipReason::preemption_in_step),
            "no request is admitted in a step that preempted one");
  for (int reason = 0; reason <= static_cast<int>(SkipReason::frame_in_flight); ++reason)
    EXPECT_FALSE(explain_skip(static_cast<SkipReason>(reason)).empty());
}

TEST(ExplainSkip, SaysTheNumbersBehindItWhereTheyAreKnown) {
  EngineConfig config;
  config.max_model_len = 64;
  const TokenTerms terms{
      .budget_left = 7, .prefill_threshold = 20, .num_computed_tokens = 16, .num_new_tokens = 7};
  const auto words = [&](SkipReason reason, const TokenTerms* known) {
    return explain_skip(SkippedRequest{{}, reason}, known, config);
  };
  EXPECT_EQ(words(SkipReason::split_to_zero, nullptr),
            "the aligned split left nothing: the tokens that it could get reach no block boundary");
  EXPECT_EQ(words(SkipReason::split_to_zero, &terms),
            "the aligned split left nothing: the tokens that it could get reach no block boundary: "
            "tokens 17..23, what is left of the budget");
  TokenTerms wanted = terms;
  wanted.num_new_tokens = 20;
  EXPECT_THAT(words(SkipReason::split_to_zero, &wanted),
              testing::EndsWith("tokens 17..36, long_prefill_token_threshold"));
  wanted.num_new_tokens = 3;
  EXPECT_THAT(words(SkipReason::split_to_zero, &wanted),
              testing::EndsWith("tokens 17..19, all that it lacks"));
  EXPECT_EQ(words(SkipReason::no_token_budget, &wanted),
            "too little of the token budget is left for it: 3 wanted, 7 left");
  EXPECT_EQ(words(SkipReason::max_model_len, &terms),
            "nothing that it could run fits below max_model_len: c = 16, max_model_len 64");
}

constexpr AlignedSplitSettings kBlocksOf8{
    .block_size = 8, .hash_block_size = 8, .scheduler_block_size = 8, .max_tokens_a_step = 64};

AlignedSplitInputs prompt_of(std::int32_t tokens, std::int32_t computed, std::int32_t wanted) {
  return {.num_computed_tokens = computed,
          .num_prompt_tokens = tokens,
          .num_tokens = tokens,
          .num_new_tokens = wanted};
}

TEST(ExplainAlignedSplit, AChunkBelowTheLastCachePositionIsRoundedDown) {
  EXPECT_EQ(
      explain_aligned_split(AlignedSplit::every_chunk_on_grid, kBlocksOf8, prompt_of(30, 0, 20)),
      "last_cache_position = floor(30 / 8) * 8 = 24; end = 0 + 20 = 20 < 24: 20 rounded down "
      "to a multiple of 8 = 16");
}

TEST(ExplainAlignedSplit, AChunkStopsAtTheLastCachePosition) {
  EXPECT_EQ(
      explain_aligned_split(AlignedSplit::every_chunk_on_grid, kBlocksOf8, prompt_of(30, 16, 14)),
      "last_cache_position = floor(30 / 8) * 8 = 24; end = 16 + 14 = 30; 16 < 24 < 30: cut "
      "to 24 - 16 = 8");
}

TEST(ExplainAlignedSplit, OnTheGridAnUnfinishedChunkMayShrinkToNothing) {
  const AlignedSplitInputs inputs = prompt_of(10, 0, 3);
  AlignedSplitSettings eagle = kBlocksOf8;
  eagle.use_eagle = true;
  EXPECT_EQ(explain_aligned_split(AlignedSplit::until_last_cache_position, eagle, inputs),
            "last_cache_position = floor(10 / 8) * 8 - 8 (draft model) = 0; end = 0 + 3 = 3: as it "
            "is");
  EXPECT_EQ(explain_aligned_split(AlignedSplit::every_chunk_on_grid, eagle, inputs),
            "last_cache_position = floor(10 / 8) * 8 - 8 (draft model) = 0; end = 0 + 3 = 3: as it "
            "is; a chunk that does not reach the last known token 10 ends on the block grid: 0");
}

TEST(ExplainAlignedSplit, AnUncachedCommonPrefixEndsAChunk) {
  AlignedSplitInputs inputs = prompt_of(30, 0, 24);
  inputs.shared_prefix_boundary = 16;
  EXPECT_THAT(explain_aligned_split(AlignedSplit::every_chunk_on_grid, kBlocksOf8, inputs),
              HasSubstr("; a shared prefix ends at 16: cut to floor((16 - 0) / 8) * 8 = 16"));
}

// Profile safe: where a state can be stored inside a block, its chunks end as in the newest
// release.
TEST(ExplainAlignedSplit, WithHitsInsideBlocksAChunkMayEndOnTheHashGrid) {
  AlignedSplitSettings inside = kBlocksOf8;
  inside.hash_block_size = 2;
  inside.fine_grained_hits = true;
  EXPECT_EQ(explain_aligned_split(AlignedSplit::every_chunk_on_grid, inside, prompt_of(22, 16, 6)),
            "end = 16 + 6 = 22: cut to 20, on the hash grid");
}

TEST(ExplainAlignedSplit, AChunkThatStartsInsideABlockStopsAtItsEnd) {
  const auto words = [](std::int32_t wanted) {
    AlignedSplitSettings eagle = kBlocksOf8;
    eagle.use_eagle = true;
    return explain_aligned_split(AlignedSplit::every_chunk_on_grid, eagle,
                                 prompt_of(14, 3, wanted));
  };
  EXPECT_THAT(words(11),
              testing::EndsWith("; it starts inside a block and stops at its end: 8 - 3 = 5"));
  EXPECT_THAT(words(4),
              testing::EndsWith("; it starts inside a block and does not reach its end 8: 0"));
}

TEST(ExplainAlignedSplit, TheLastCachePositionIsNeverNegative) {
  AlignedSplitSettings eagle = kBlocksOf8;
  eagle.use_eagle = true;
  EXPECT_EQ(
      explain_aligned_split(AlignedSplit::until_last_cache_position, eagle, prompt_of(5, 0, 5)),
      "last_cache_position = floor(5 / 8) * 8, less 8 (draft model), but not below 0 = 0; end "
      "= 0 + 5 = 5: as it is");
}

TEST(ExplainAlignedSplit, LaterReleasesStopAtPositions) {
  constexpr AlignedSplit kRule = AlignedSplit::stops_before_the_last_token;
  EXPECT_EQ(explain_aligned_split(kRule, kBlocksOf8, prompt_of(16, 0, 16)),
            "end = 0 + 16 = 16: cut to 8, on the block grid");
  EXPECT_EQ(explain_aligned_split(kRule, kBlocksOf8, prompt_of(16, 8, 8)),
            "end = 8 + 8 = 16: as it is");
  EXPECT_EQ(explain_aligned_split(kRule, kBlocksOf8, prompt_of(16, 0, 3)),
            "end = 0 + 3 = 3: no block ends in it, so it waits");
}

TEST(ExplainAlignedSplit, DecodesAreNotSplit) {
  AlignedSplitInputs inputs = prompt_of(6, 6, 2);
  inputs.num_tokens = 7;
  EXPECT_EQ(explain_aligned_split(AlignedSplit::every_chunk_on_grid, kBlocksOf8, inputs),
            "computed 6 >= max(prompt 6, known - 1 = 6): a decode, not split");
}

}  // namespace
}  // namespace hybridscope::explain_schedule_test
