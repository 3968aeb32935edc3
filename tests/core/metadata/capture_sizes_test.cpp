// Worked examples (semantics: resolve-cudagraph-mode, capture-sizes): capture sizes, and what the
// builders leave of a graph mode.
#include "core/metadata/capture_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/metadata/builder_policies.h"
#include "core/metadata/cudagraph_mode.h"
#include "core/metadata/metadata_builders.h"

namespace hybridscope::capture_sizes_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ints = std::vector<std::int32_t>;
using Kind = CudagraphCorrectionKind;
using Mode = CUDAGraphMode;
using Support = AttentionCGSupport;

TEST(CaptureSizes, DefaultListOfFourSequencesWithTwoDrafts) {
  EXPECT_THAT(make_cudagraph_capture_sizes(
                  {.max_num_seqs = 4, .num_spec = 2, .max_num_batched_tokens = 8192})
                  .value()
                  .sizes,
              ElementsAre(1, 2, 4, 8, 16, 24));
}

TEST(CaptureSizes, LaterListsHoldTheSizesOfDecodeBatches) {
  const auto sizes = [](CaptureList list, std::int32_t num_spec) {
    return make_cudagraph_capture_sizes({.max_num_seqs = 4 + num_spec / 2,
                                         .num_spec = num_spec,
                                         .max_num_batched_tokens = 20,
                                         .list = list})
        .value()
        .sizes;
  };
  // Five rows of three tokens: 3, 6, 12 and 15 tokens.
  EXPECT_THAT(sizes(CaptureList::round_token_counts, 2), ElementsAre(1, 2, 4, 8, 16, 20));
  EXPECT_THAT(sizes(CaptureList::decode_batches_too, 2),
              ElementsAre(1, 2, 3, 4, 6, 8, 12, 15, 16, 20));
  EXPECT_THAT(sizes(CaptureList::full_batch_too, 2), ElementsAre(1, 2, 3, 4, 6, 8, 12, 15, 16, 20));
  // A full batch of three rows without drafts.
  const auto of_three_rows = [](CaptureList list) {
    return make_cudagraph_capture_sizes(
               {.max_num_seqs = 3, .max_num_batched_tokens = 20, .list = list})
        .value()
        .sizes;
  };
  EXPECT_THAT(of_three_rows(CaptureList::decode_batches_too), ElementsAre(1, 2, 4));
  EXPECT_THAT(of_three_rows(CaptureList::full_batch_too), ElementsAre(1, 2, 3, 4));
}

TEST(CaptureSizes, ALargestSizeOfTheUserIsNotFilledUp) {
  EXPECT_THAT(make_cudagraph_capture_sizes({.max_num_seqs = 4,
                                            .num_spec = 2,
                                            .max_num_batched_tokens = 20,
                                            .max_cudagraph_capture_size = 8,
                                            .list = CaptureList::full_batch_too})
                  .value()
                  .sizes,
              ElementsAre(1, 2, 4, 8));
}

TEST(CaptureSizes, DefaultListGrowsInStepsOf16From256AndEndsAt512) {
  const Ints sizes =
      make_cudagraph_capture_sizes({.max_num_seqs = 256, .max_num_batched_tokens = 8192})
          .value()
          .sizes;
  EXPECT_EQ(sizes.size(), 3U + 31U + 17U);
  EXPECT_EQ(sizes[33], 248);
  EXPECT_EQ(sizes[34], 256);
  EXPECT_EQ(sizes[35], 272);
  EXPECT_EQ(sizes.back(), 512);
}

TEST(CaptureSizes, TokenBudgetCutsTheListAndIsItsLastSize) {
  EXPECT_THAT(make_cudagraph_capture_sizes({.max_num_seqs = 64, .max_num_batched_tokens = 30})
                  .value()
                  .sizes,
              ElementsAre(1, 2, 4, 8, 16, 24, 30));
}

TEST(CaptureSizes, UserListIsSortedAndCutToTheTokenBudget) {
  const Ints user = {64, 2, 8, 8, 32};
  EXPECT_THAT(
      make_cudagraph_capture_sizes(
          {.max_num_seqs = 4, .max_num_batched_tokens = 40, .cudagraph_capture_sizes = user})
          .value()
          .sizes,
      ElementsAre(2, 8, 32));
  const Ints none;
  EXPECT_FALSE(make_cudagraph_capture_sizes({.cudagraph_capture_sizes = none}).ok());
}

TEST(CaptureSizes, InteractivityCapturesEverySmallSize) {
  EXPECT_THAT(make_cudagraph_capture_sizes({.max_num_seqs = 16,
                                            .max_num_batched_tokens = 8192,
                                            .max_cudagraph_capture_size = 10,
                                            .interactivity = true})
                  .value()
                  .sizes,
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
}

TEST(CaptureSizes, DroppedSizesAreACorrectionWithTheLimit) {
  const Ints user = {2, 8, 32, 64};
  EXPECT_THAT(
      make_cudagraph_capture_sizes(
          {.max_num_seqs = 4, .max_num_batched_tokens = 40, .cudagraph_capture_sizes = user})
          .value()
          .corrections,
      ElementsAre(CudagraphCorrection{.kind = Kind::sizes_above_batched_tokens,
                                      .limit = 40,
                                      .before = {2, 8, 32, 64},
                                      .after = {2, 8, 32}}));
}

TEST(CaptureSizes, AListWithoutASizeThatFitsIsEmpty) {
  const Ints user = {64};
  EXPECT_THAT(
      make_cudagraph_capture_sizes({.max_num_batched_tokens = 40, .cudagraph_capture_sizes = user})
          .value()
          .sizes,
      IsEmpty());
}

TEST(CaptureSizes, TheLargestSizeAskedForIsCutToTheLastSizeOfTheList) {
  const CaptureSizes sizes =
      make_cudagraph_capture_sizes(
          {.max_num_seqs = 16, .max_num_batched_tokens = 8192, .max_cudagraph_capture_size = 10})
          .value();
  EXPECT_THAT(sizes.sizes, ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(
      sizes.corrections,
      ElementsAre(CudagraphCorrection{
          .kind = Kind::largest_size_lowered, .limit = 8192, .before = {10}, .after = {8}}));
}

TEST(CaptureSizes, AListAndALargestSizeMustAgree) {
  const Ints user = {2, 8};
  CaptureSizesInput input{.max_num_batched_tokens = 40,
                          .max_cudagraph_capture_size = 16,
                          .cudagraph_capture_sizes = user};
  EXPECT_EQ(make_cudagraph_capture_sizes(input).error().message,
            "max_cudagraph_capture_size is 16 but the largest of cudagraph_capture_sizes is 8 "
            "(expected equal values, or only one of the two)");
  input.max_cudagraph_capture_size = 8;
  EXPECT_TRUE(make_cudagraph_capture_sizes(input).ok());
}

TEST(CaptureSizes, SpeculationRoundsUpToRowsOfKPlusOneTokens) {
  EXPECT_THAT(round_capture_sizes(Ints{1, 2, 4, 8, 16, 24}, 3).value(),
              ElementsAre(3, 6, 9, 18, 24));
  EXPECT_THAT(round_capture_sizes(Ints{2, 4}, 3).value(), ElementsAre(3));
  EXPECT_FALSE(round_capture_sizes(Ints{1, 2}, 3).ok());
  EXPECT_THAT(round_capture_sizes(Ints{5}, 3).value(), ElementsAre(3));
}

TEST(OptimizationLevels, GiveTheDefaultMode) {
  EXPECT_EQ(default_cudagraph_mode(OptimizationLevel::O0), Mode::none);
  EXPECT_EQ(default_cudagraph_mode(OptimizationLevel::O1), Mode::piecewise);
  EXPECT_EQ(default_cudagraph_mode(OptimizationLevel::O2), Mode::full_and_piecewise);
  EXPECT_EQ(default_cudagraph_mode(OptimizationLevel::O3), Mode::full_and_piecewise);
}

TEST(CGSupport, OfBackendsAndBuilders) {
  EXPECT_EQ(cg_support(AttentionBackend::flash_attn_3), Support::always);
  EXPECT_EQ(cg_support(AttentionBackend::flash_attn_2), Support::uniform_batch);
  EXPECT_EQ(cg_support(AttentionBackend::triton), Support::always);
  EXPECT_EQ(cg_support(AttentionBackend::flex), Support::always);
  for (const MetadataBuilderRow& row : kMetadataBuilders)
    EXPECT_EQ(row.cg_support, row.mamba_type == MambaType::linear_attention
                                  ? Support::uniform_single_token_decode
                                  : Support::uniform_batch)
        << row.reference_name;
}

TEST(CudagraphResolution, HybridModelWithDraftsKeepsFullAndPiecewise) {
  const Ints sizes = {1, 2, 4, 8, 16, 24};
  const auto resolved =
      resolve_cudagraph_mode_and_sizes({.cudagraph_mode = Mode::full_and_piecewise,
                                        .min_cg_support = AttentionCGSupport::uniform_batch,
                                        .num_spec = 2,
                                        .capture_sizes = sizes})
          .value();
  EXPECT_EQ(resolved.cudagraph_mode, Mode::full_and_piecewise);
  EXPECT_THAT(resolved.capture_sizes, ElementsAre(3, 6, 9, 18, 24));
}

struct ResolutionCase {
  const char* name;
  Mode asked;
  AttentionCGSupport support;
  bool splitting;
  std::int32_t num_spec;
  Mode resolved;
};

class CudagraphResolutionTable : public ::testing::TestWithParam<ResolutionCase> {};

TEST_P(CudagraphResolutionTable, GivesTheMode) {
  const ResolutionCase& c = GetParam();
  const Ints sizes = {3, 6};
  EXPECT_EQ(resolve_cudagraph_mode_and_sizes({.cudagraph_mode = c.asked,
                                              .min_cg_support = c.support,
                                              .attention_is_splitting_op = c.splitting,
                                              .num_spec = c.num_spec,
                                              .capture_sizes = sizes})
                .value()
                .cudagraph_mode,
            c.resolved);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, CudagraphResolutionTable,
    ::testing::Values(
        ResolutionCase{"FullOfAHybrid", Mode::full, Support::uniform_batch, true, 0,
                       Mode::full_and_piecewise},
        ResolutionCase{"FullWithoutPieces", Mode::full, Support::uniform_batch, false, 0,
                       Mode::full_decode_only},
        ResolutionCase{"FullOfAttention", Mode::full, Support::always, true, 2, Mode::full},
        ResolutionCase{"LinearAttentionWithDrafts", Mode::full_and_piecewise,
                       Support::uniform_single_token_decode, true, 2, Mode::piecewise},
        ResolutionCase{"LinearAttentionAlone", Mode::full_and_piecewise,
                       Support::uniform_single_token_decode, true, 0, Mode::full_and_piecewise},
        ResolutionCase{"NeverInPieces", Mode::full_and_piecewise, Support::never, true, 0,
                       Mode::piecewise},
        ResolutionCase{"NeverWithoutPieces", Mode::full_decode_only, Support::never, false, 0,
                       Mode::none},
        ResolutionCase{"PiecewiseStays", Mode::piecewise, Support::never, true, 2, Mode::piecewise},
        ResolutionCase{"FullOfLinearAttentionWithDrafts", Mode::full,
                       Support::uniform_single_token_decode, true, 2, Mode::piecewise},
        ResolutionCase{"FullOfLinearAttentionWithDraftsWithoutPieces", Mode::full,
                       Support::uniform_single_token_decode, false, 2, Mode::none},
        ResolutionCase{"PiecewiseWithoutPieces", Mode::piecewise, Support::uniform_batch, false, 0,
                       Mode::none},
        ResolutionCase{"FullAndPiecewiseWithoutPieces", Mode::full_and_piecewise,
                       Support::uniform_batch, false, 0, Mode::none},
        ResolutionCase{"DecodeOnlyOfAHybridWithDrafts", Mode::full_decode_only,
                       Support::uniform_batch, false, 2, Mode::full_decode_only},
        ResolutionCase{"NoneStays", Mode::none, Support::never, true, 2, Mode::none}),
    [](const auto& row) { return row.param.name; });

CudagraphResolution resolved(const CudagraphResolutionInput& input) {
  return resolve_cudagraph_mode_and_sizes(input).value();
}

// FULL of linear attention with drafts: first lowered, then taken away.
TEST(CudagraphResolution, EachCorrectionOfTheModeIsTold) {
  const Ints sizes = {3, 6};
  EXPECT_THAT(
      resolved({.cudagraph_mode = Mode::full,
                .min_cg_support = Support::uniform_single_token_decode,
                .num_spec = 2,
                .capture_sizes = sizes})
          .corrections,
      ElementsAre(CudagraphCorrection{.kind = Kind::full_needs_always,
                                      .from = Mode::full,
                                      .to = Mode::full_and_piecewise,
                                      .min_cg_support = Support::uniform_single_token_decode},
                  CudagraphCorrection{.kind = Kind::drafts_need_uniform_batch,
                                      .from = Mode::full_and_piecewise,
                                      .to = Mode::piecewise,
                                      .min_cg_support = Support::uniform_single_token_decode}));
}

TEST(CudagraphResolution, RoundedSizesAreACorrectionUnlessTheyWereMultiples) {
  const Ints sizes = {1, 2, 4, 8, 16, 24};
  CudagraphResolutionInput input{.cudagraph_mode = Mode::full_and_piecewise,
                                 .min_cg_support = Support::uniform_batch,
                                 .num_spec = 2,
                                 .capture_sizes = sizes};
  EXPECT_THAT(resolved(input).corrections,
              ElementsAre(CudagraphCorrection{.kind = Kind::sizes_rounded,
                                              .limit = 3,
                                              .before = {1, 2, 4, 8, 16, 24},
                                              .after = {3, 6, 9, 18, 24}}));
  const Ints multiples = {3, 9};
  input.capture_sizes = multiples;
  EXPECT_THAT(resolved(input).corrections, IsEmpty());
}

TEST(CudagraphResolution, RunnerV1RoundsForFullGraphsOnlyAndV2Always) {
  const Ints sizes = {2, 4, 8};
  CudagraphResolutionInput input{.cudagraph_mode = Mode::piecewise,
                                 .min_cg_support = Support::uniform_batch,
                                 .num_spec = 2,
                                 .capture_sizes = sizes};
  EXPECT_THAT(resolved(input).capture_sizes, ElementsAre(2, 4, 8));
  input.spec_rounding = SpecRounding::always;
  EXPECT_THAT(resolved(input).capture_sizes, ElementsAre(3, 6));
}

TEST(CudagraphResolution, GraphsWithoutASizeAreAnError) {
  EXPECT_FALSE(resolve_cudagraph_mode_and_sizes({.cudagraph_mode = Mode::piecewise}).ok());
  EXPECT_TRUE(resolve_cudagraph_mode_and_sizes({.cudagraph_mode = Mode::none}).ok());
}

TEST(CudagraphResolution, FullGraphsWithABuilderThatNeverSupportsThemAreAnError) {
  EXPECT_FALSE(resolve_cudagraph_mode_and_sizes(
                   {.cudagraph_mode = Mode::full, .min_cg_support = AttentionCGSupport::never})
                   .ok());
}

TEST(CudagraphResolution, MoreSequencesThanMambaBlocksAreAnErrorOutsideProfiling) {
  const Ints sizes = {1};
  CudagraphResolutionInput input{.cudagraph_mode = Mode::full_decode_only,
                                 .capture_sizes = sizes,
                                 .has_mamba_layers = true,
                                 .max_num_seqs = 8,
                                 .num_blocks = 7};
  EXPECT_FALSE(resolve_cudagraph_mode_and_sizes(input).ok());
  input.num_blocks = 8;
  EXPECT_TRUE(resolve_cudagraph_mode_and_sizes(input).ok());
  input.num_blocks = std::nullopt;
  input.max_num_seqs = 1000;
  EXPECT_TRUE(resolve_cudagraph_mode_and_sizes(input).ok());
}

}  // namespace
}  // namespace hybridscope::capture_sizes_test
