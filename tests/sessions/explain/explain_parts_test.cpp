#include "sessions/explain/explain_parts.h"

#include <gtest/gtest.h>

namespace hybridscope::explain_parts_test {
namespace {

using Reason = CudagraphDispatchReason;

TEST(ExplainDispatch, AFullGraphPadsRowsAndTokens) {
  EXPECT_EQ(explain_dispatch({.dispatch = {CUDAGraphMode::full, 8, 4, Reason::uniform_decode_graph},
                              .num_tokens = 6,
                              .num_reqs = 3,
                              .uniform_decode = true,
                              .num_spec = 1}),
            "6 tokens in 3 rows: a uniform decode (1 + K = 2 tokens a row); runtime mode FULL: the "
            "graph of uniform decode batches; captured size 8: 2 tokens of padding and 1 padding "
            "row without tokens, length or blocks");
}

TEST(ExplainDispatch, AnExactFitPadsNothing) {
  EXPECT_EQ(explain_dispatch({.dispatch = {CUDAGraphMode::full, 1, 1, Reason::uniform_decode_graph},
                              .num_tokens = 1,
                              .num_reqs = 1,
                              .uniform_decode = true}),
            "1 token in 1 row: a uniform decode (1 + K = 1 token a row); runtime mode FULL: the "
            "graph of uniform decode batches; captured size 1: nothing to pad");
}

TEST(ExplainDispatch, APiecewiseGraphHidesItsPaddingFromTheMetadata) {
  EXPECT_EQ(explain_dispatch({.dispatch = {CUDAGraphMode::piecewise, 8, 1, Reason::not_uniform},
                              .num_tokens = 7,
                              .num_reqs = 1,
                              .num_spec = 1}),
            "7 tokens in 1 row: not a uniform decode; runtime mode PIECEWISE: full graphs are for "
            "uniform decode batches only; captured size 8: 1 token of padding that the metadata "
            "does not see");
}

TEST(ExplainDispatch, WithoutAGraphNothingIsPadded) {
  EXPECT_EQ(explain_dispatch({.dispatch = {CUDAGraphMode::none, 900, 2, Reason::above_largest_size},
                              .num_tokens = 900,
                              .num_reqs = 2}),
            "900 tokens in 2 rows: not a uniform decode; runtime mode NONE: the batch is larger "
            "than the largest captured size");
}

TEST(ExplainDispatch, ABatchWithoutAGraphIsToldWhereItWouldHaveBeen) {
  EXPECT_EQ(explain_dispatch({.dispatch = {CUDAGraphMode::none, 5, 2, Reason::no_graph_for_batch},
                              .num_tokens = 5,
                              .num_reqs = 2}),
            "5 tokens in 2 rows: not a uniform decode; runtime mode NONE: at the captured size "
            "that fits there is no graph for this kind of batch");
}

TEST(ExplainDispatch, ModesAreSpelledAsOnTheCommandLine) {
  EXPECT_EQ(cudagraph_mode_name(CUDAGraphMode::full_and_piecewise), "FULL_AND_PIECEWISE");
}

TEST(ExplainDispatch, SaysWhatTheTraceDoesNotSay) {
  EXPECT_EQ(explain_dispatch({.dispatch = {.runtime_mode = CUDAGraphMode::none},
                              .num_tokens = 3,
                              .num_reqs = 1,
                              .reason_known = false}),
            "3 tokens in 1 row; runtime mode NONE: the trace does not say why");
}

}  // namespace

}  // namespace hybridscope::explain_parts_test
