// Worked examples (semantics: cudagraph-modes, cudagraph-dispatch).
#include "core/metadata/graph_padding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/metadata/builder_policies.h"

namespace hybridscope::graph_padding_test {
namespace {

using ::testing::ElementsAre;
using Ints = std::vector<std::int32_t>;
using Mode = CUDAGraphMode;
using Reason = CudagraphDispatchReason;

TEST(CUDAGraphModes, ArePairsOfDecodeAndOtherBatches) {
  EXPECT_EQ(decode_mode(Mode::full_decode_only), Mode::full);
  EXPECT_EQ(mixed_mode(Mode::full_decode_only), Mode::none);
  EXPECT_EQ(mixed_mode(Mode::full_and_piecewise), Mode::piecewise);
  EXPECT_EQ(mixed_mode(Mode::full), Mode::full);
  EXPECT_FALSE(separate_routine(Mode::full));
  EXPECT_TRUE(separate_routine(Mode::full_and_piecewise));
  EXPECT_FALSE(has_full_cudagraphs(Mode::piecewise));
}

// K = 2, 4 sequences, sizes [3, 6, 9, 18, 24], FULL_AND_PIECEWISE.
struct DispatchCase {
  const char* name;
  std::int32_t max_query_len;
  std::int32_t num_tokens;
  std::int32_t num_reqs;
  CudagraphDispatch expected;
};

class DispatchTable : public ::testing::TestWithParam<DispatchCase> {};

TEST_P(DispatchTable, GivesModeAndPadding) {
  const DispatchCase& c = GetParam();
  const Ints sizes = {3, 6, 9, 18, 24};
  const bool uniform = is_uniform_decode_by_shape({.max_query_len = c.max_query_len,
                                                   .num_tokens = c.num_tokens,
                                                   .num_reqs = c.num_reqs,
                                                   .num_spec = 2});
  EXPECT_EQ(dispatch_cudagraph(
                {.cudagraph_mode = Mode::full_and_piecewise,
                 .capture_sizes = sizes,
                 .max_num_seqs = 4,
                 .num_spec = 2},
                {.num_tokens = c.num_tokens, .num_reqs = c.num_reqs, .uniform_decode = uniform})
                .value(),
            c.expected);
}

// The same results (semantics: cudagraph-dispatch-v2).
TEST_P(DispatchTable, GivesModeAndPaddingOnRunnerV2) {
  const DispatchCase& c = GetParam();
  const Ints sizes = {3, 6, 9, 18, 24};
  const std::optional<std::int32_t> uniform =
      get_uniform_token_count({.max_query_len = c.max_query_len,
                               .num_tokens = c.num_tokens,
                               .num_reqs = c.num_reqs,
                               .num_spec = 2});
  EXPECT_EQ(
      dispatch_cudagraph_v2(
          {.cudagraph_mode = Mode::full_and_piecewise,
           .capture_sizes = sizes,
           .max_num_seqs = 4,
           .num_spec = 2},
          {.num_tokens = c.num_tokens, .num_reqs = c.num_reqs, .uniform_token_count = uniform})
          .value(),
      c.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Runner44, DispatchTable,
    ::testing::Values(
        DispatchCase{"TwoRows", 3, 6, 2, {Mode::full, 6, 2, Reason::uniform_decode_graph}},
        DispatchCase{"ThreeRows", 3, 9, 3, {Mode::full, 9, 3, Reason::uniform_decode_graph}},
        DispatchCase{"FourRowsMissTheirSize",
                     3,
                     12,
                     4,
                     {Mode::piecewise, 18, 4, Reason::full_graph_too_small}},
        DispatchCase{"OneDraftShort", 3, 5, 2, {Mode::piecewise, 6, 2, Reason::not_uniform}},
        DispatchCase{"PromptOfThree", 3, 3, 1, {Mode::full, 3, 1, Reason::uniform_decode_graph}},
        DispatchCase{"SevenTokens", 3, 7, 3, {Mode::piecewise, 9, 3, Reason::not_uniform}},
        DispatchCase{"ThirtyTokens", 26, 30, 3, {Mode::none, 30, 3, Reason::above_largest_size}}),
    [](const auto& row) { return row.param.name; });

TEST(Dispatch, SkippedSizePadsRows) {
  const Ints sizes = {6, 12};
  const auto step = dispatch_cudagraph({.cudagraph_mode = Mode::full_and_piecewise,
                                        .capture_sizes = sizes,
                                        .max_num_seqs = 4,
                                        .num_spec = 2},
                                       {.num_tokens = 3, .num_reqs = 1, .uniform_decode = true})
                        .value();
  EXPECT_EQ(step.num_tokens_padded, 6);
  EXPECT_EQ(step.num_reqs_padded, 2);
  EXPECT_TRUE(step.pads_metadata());
}

TEST(Dispatch, FullDecodeOnlyRunsOtherBatchesEagerlyAndUnpadded) {
  const Ints sizes = {1, 2, 4, 8};
  const CudagraphDispatchConfig config{
      .cudagraph_mode = Mode::full_decode_only, .capture_sizes = sizes, .max_num_seqs = 4};
  EXPECT_EQ(dispatch_cudagraph(config, {.num_tokens = 3, .num_reqs = 2}).value(),
            (CudagraphDispatch{Mode::none, 3, 2, Reason::no_graph_for_batch}));
  EXPECT_EQ(
      dispatch_cudagraph(config, {.num_tokens = 3, .num_reqs = 3, .uniform_decode = true}).value(),
      (CudagraphDispatch{Mode::full, 4, 4, Reason::uniform_decode_graph}));
}

TEST(Dispatch, PlainFullModeDoesNotTellDecodesApart) {
  const Ints sizes = {2, 8};
  const CudagraphDispatchConfig config{
      .cudagraph_mode = Mode::full, .capture_sizes = sizes, .max_num_seqs = 4};
  EXPECT_EQ(dispatch_cudagraph(config, {.num_tokens = 5, .num_reqs = 2}).value(),
            (CudagraphDispatch{Mode::full, 8, 4, Reason::mixed_batch_graph}));
  EXPECT_EQ(
      dispatch_cudagraph(config, {.num_tokens = 5, .num_reqs = 2, .full_forbidden = true}).value(),
      (CudagraphDispatch{Mode::none, 5, 2, Reason::no_graph_for_batch}));
}

TEST(Dispatch, UniformRowsWithFewerTokensNeedAGraphWithEnoughRows) {
  const Ints sizes = {3, 6, 9};
  const CudagraphDispatchConfig config{.cudagraph_mode = Mode::full_and_piecewise,
                                       .capture_sizes = sizes,
                                       .max_num_seqs = 4,
                                       .num_spec = 2};
  EXPECT_EQ(
      dispatch_cudagraph(config, {.num_tokens = 3, .num_reqs = 3, .uniform_decode = true}).value(),
      (CudagraphDispatch{Mode::piecewise, 3, 3, Reason::full_graph_too_small}));
}

TEST(Dispatch, EagerWhenOffWarmingUpOrForbidden) {
  const Ints sizes = {4};
  CudagraphDispatchConfig config{
      .cudagraph_mode = Mode::full_and_piecewise, .capture_sizes = sizes, .max_num_seqs = 4};
  EXPECT_EQ(dispatch_cudagraph(config, {.num_tokens = 2, .num_reqs = 2, .only_none = true})
                .value()
                .reason,
            Reason::only_none_allowed);
  EXPECT_EQ(
      dispatch_cudagraph(
          config, {.num_tokens = 2, .num_reqs = 2, .uniform_decode = true, .full_forbidden = true})
          .value(),
      (CudagraphDispatch{Mode::piecewise, 4, 2, Reason::full_graph_forbidden}));
  config.cudagraph_mode = Mode::none;
  EXPECT_EQ(dispatch_cudagraph(config, {.num_tokens = 2, .num_reqs = 2}).value().reason,
            Reason::graphs_off);
}

TEST(Dispatch, SizesThatWereNotRoundedAreAnErrorForUniformDecodes) {
  const Ints sizes = {4};
  EXPECT_FALSE(dispatch_cudagraph({.cudagraph_mode = Mode::full_and_piecewise,
                                   .capture_sizes = sizes,
                                   .max_num_seqs = 4,
                                   .num_spec = 2},
                                  {.num_tokens = 3, .num_reqs = 1, .uniform_decode = true})
                   .ok());
}

TEST(Dispatch, UniformTestSeesOnlyTheShape) {
  EXPECT_TRUE(is_uniform_decode_by_shape({3, 6, 2, 2}));
  EXPECT_FALSE(is_uniform_decode_by_shape({3, 5, 2, 2}));
  EXPECT_FALSE(is_uniform_decode_by_shape({1, 2, 2, 2}));
  EXPECT_TRUE(is_uniform_decode_by_shape({1, 2, 2, 0}));
}

TEST(DispatchV2, UniformTokenCountIsTheLengthThatAllRowsHave) {
  EXPECT_EQ(get_uniform_token_count({.max_query_len = 3, .num_tokens = 6, .num_reqs = 2}), 3);
  EXPECT_EQ(get_uniform_token_count({.max_query_len = 20, .num_tokens = 20, .num_reqs = 1}), 20);
  EXPECT_EQ(get_uniform_token_count({.max_query_len = 3, .num_tokens = 5, .num_reqs = 2}),
            std::nullopt);
  EXPECT_EQ(get_uniform_token_count({}), std::nullopt);
}

TEST(DispatchV2, SkippedSizePadsRows) {
  const Ints sizes = {6, 12};
  EXPECT_EQ(dispatch_cudagraph_v2({.cudagraph_mode = Mode::full_and_piecewise,
                                   .capture_sizes = sizes,
                                   .max_num_seqs = 4,
                                   .num_spec = 2},
                                  {.num_tokens = 3, .num_reqs = 1, .uniform_token_count = 3})
                .value(),
            (CudagraphDispatch{Mode::full, 6, 2, Reason::uniform_decode_graph}));
}

// One token a row, K = 2: a length that no graph was captured for.
TEST(DispatchV2, AnotherUniformCountThanKPlusOneOpensNoDecodeGraph) {
  const Ints sizes = {3, 6};
  EXPECT_EQ(dispatch_cudagraph_v2({.cudagraph_mode = Mode::full_and_piecewise,
                                   .capture_sizes = sizes,
                                   .max_num_seqs = 4,
                                   .num_spec = 2},
                                  {.num_tokens = 2, .num_reqs = 2, .uniform_token_count = 1})
                .value(),
            (CudagraphDispatch{Mode::piecewise, 3, 2, Reason::not_uniform}));
}

TEST(DispatchV2, OnlyTheSmallestSizeThatHoldsTheTokensIsLookedAt) {
  const Ints sizes = {12, 24};
  const CudagraphDispatchConfig config{.cudagraph_mode = Mode::full_decode_only,
                                       .capture_sizes = sizes,
                                       .max_num_seqs = 4,
                                       .num_spec = 2};
  EXPECT_EQ(
      dispatch_cudagraph_v2(config, {.num_tokens = 12, .num_reqs = 4, .uniform_token_count = 3})
          .value(),
      (CudagraphDispatch{Mode::full, 12, 4, Reason::uniform_decode_graph}));
  EXPECT_EQ(dispatch_cudagraph_v2(config, {.num_tokens = 5, .num_reqs = 2}).value(),
            (CudagraphDispatch{Mode::none, 5, 2, Reason::no_graph_for_batch}));
  EXPECT_EQ(
      dispatch_cudagraph_v2(config, {.num_tokens = 15, .num_reqs = 5, .uniform_token_count = 3})
          .value(),
      (CudagraphDispatch{Mode::none, 15, 5, Reason::no_graph_for_batch}));
}

// K = 2: decode graphs of 3 and 6 tokens; 9 is above the largest size.
TEST(DispatchV2, EachSizeMayHaveAGraphOfDecodesRoundedByItself) {
  const Ints sizes = {1, 2, 4, 8};
  CudagraphDispatchConfig config{.cudagraph_mode = Mode::full_and_piecewise,
                                 .capture_sizes = sizes,
                                 .max_num_seqs = 4,
                                 .num_spec = 2,
                                 .decode_graphs = DecodeGraphs::each_size_rounded};
  EXPECT_THAT(captured_sizes(config, /*uniform_alone=*/true), ElementsAre(3, 6));
  EXPECT_THAT(captured_sizes(config), ElementsAre(1, 2, 3, 4, 6, 8));
  const CudagraphDispatchInputV2 decode{.num_tokens = 3, .num_reqs = 1, .uniform_token_count = 3};
  const CudagraphDispatchInputV2 prompt{.num_tokens = 3, .num_reqs = 1};
  const CudagraphDispatch of_decode{Mode::full, 3, 1, Reason::uniform_decode_graph};
  EXPECT_EQ(dispatch_cudagraph_v2(config, decode).value(), of_decode);
  EXPECT_EQ(dispatch_cudagraph_v2(config, prompt).value(),
            (CudagraphDispatch{Mode::none, 3, 1, Reason::no_graph_for_batch}));
  config.decode_graphs = DecodeGraphs::full_before_piecewise;
  EXPECT_EQ(dispatch_cudagraph_v2(config, decode).value(), of_decode);
  EXPECT_EQ(dispatch_cudagraph_v2(config, prompt).value(),
            (CudagraphDispatch{Mode::piecewise, 4, 1, Reason::not_uniform}));
}

// K = 2, four rows: 12 tokens. Sizes 8 and 10 give decode graphs of 9 and 12 tokens.
TEST(DispatchV2, FullGraphsComeFirstHoweverLargeTheyAre) {
  const Ints sizes = {8, 10, 11, 16};
  CudagraphDispatchConfig config{.cudagraph_mode = Mode::full_and_piecewise,
                                 .capture_sizes = sizes,
                                 .max_num_seqs = 4,
                                 .num_spec = 2,
                                 .decode_graphs = DecodeGraphs::each_size_rounded};
  const CudagraphDispatchInputV2 decodes{.num_tokens = 6, .num_reqs = 2, .uniform_token_count = 3};
  EXPECT_EQ(dispatch_cudagraph_v2(config, decodes).value(),
            (CudagraphDispatch{Mode::piecewise, 8, 2, Reason::full_graph_too_small}));
  config.decode_graphs = DecodeGraphs::full_before_piecewise;
  EXPECT_EQ(dispatch_cudagraph_v2(config, decodes).value(),
            (CudagraphDispatch{Mode::full, 9, 3, Reason::uniform_decode_graph}));
}

TEST(DispatchV2, PlainFullModeDoesNotTellDecodesApart) {
  const Ints sizes = {2, 8};
  const CudagraphDispatchConfig config{
      .cudagraph_mode = Mode::full, .capture_sizes = sizes, .max_num_seqs = 4};
  EXPECT_EQ(dispatch_cudagraph_v2(config, {.num_tokens = 5, .num_reqs = 2}).value(),
            (CudagraphDispatch{Mode::full, 8, 4, Reason::mixed_batch_graph}));
}

TEST(DispatchV2, EagerWhenOffOrAboveTheLargestSize) {
  const Ints sizes = {4};
  CudagraphDispatchConfig config{
      .cudagraph_mode = Mode::piecewise, .capture_sizes = sizes, .max_num_seqs = 4};
  EXPECT_EQ(dispatch_cudagraph_v2(config, {.num_tokens = 2, .num_reqs = 2}).value(),
            (CudagraphDispatch{Mode::piecewise, 4, 2, Reason::piecewise_only}));
  EXPECT_EQ(dispatch_cudagraph_v2(config, {.num_tokens = 5, .num_reqs = 2}).value(),
            (CudagraphDispatch{Mode::none, 5, 2, Reason::above_largest_size}));
  config.cudagraph_mode = Mode::none;
  EXPECT_EQ(dispatch_cudagraph_v2(config, {.num_tokens = 2, .num_reqs = 2}).value().reason,
            Reason::graphs_off);
  EXPECT_FALSE(dispatch_cudagraph_v2(config, {.num_tokens = -1}).ok());
}

TEST(Dispatch, KeysOfOtherBatchesComeFirst) {
  const Ints sizes = {3, 6, 18};
  EXPECT_THAT(
      cudagraph_keys({.cudagraph_mode = Mode::full_and_piecewise,
                      .capture_sizes = sizes,
                      .max_num_seqs = 4,
                      .num_spec = 2}),
      ElementsAre(CudagraphKey{Mode::piecewise, 3, std::nullopt, false},
                  CudagraphKey{Mode::piecewise, 6, std::nullopt, false},
                  CudagraphKey{Mode::piecewise, 18, std::nullopt, false},
                  CudagraphKey{Mode::full, 3, 1, true}, CudagraphKey{Mode::full, 6, 2, true}));
}

}  // namespace
}  // namespace hybridscope::graph_padding_test
