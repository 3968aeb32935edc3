#include "core/check/symbolic_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/check/row_bench.h"

namespace hybridscope::test::row_truth_test {
namespace {

using testing::ElementsAre;

TEST(RowTruth, PrefixesRunFromTheComputedTokensToTheEndOfTheRow) {
  RowBench bench({}, {{.computed = 5, .query = 2}, {.computed = 0, .query = 3}});
  EXPECT_THAT(bench.truth().prefixes(0),
              ElementsAre(bench.prefix(0, 5), bench.prefix(0, 6), bench.prefix(0, 7)));
  EXPECT_THAT(bench.truth().prefixes(1), ElementsAre(bench.prefix(1, 0), bench.prefix(1, 1),
                                                     bench.prefix(1, 2), bench.prefix(1, 3)));
  EXPECT_EQ(bench.truth().num_computed_tokens(0), 5);
  EXPECT_EQ(bench.truth().num_query_tokens(1), 3);
}

TEST(RowTruth, HistoryEndsWithTheLastComputedToken) {
  RowBench bench({}, {{.computed = 5, .query = 1}});
  EXPECT_THAT(bench.truth().history(0),
              ElementsAre(bench.prefix(0, 3), bench.prefix(0, 4), bench.prefix(0, 5)));
}

TEST(RowTruth, BeforeTheFirstTokenThereIsNothing) {
  RowBench bench({}, {{.computed = 1, .query = 2}});
  EXPECT_THAT(bench.truth().history(0),
              ElementsAre(kBeforeFirstToken, kBeforeFirstToken, bench.prefix(0, 1)));
  EXPECT_EQ(bench.truth().at(0, -1), kBeforeFirstToken);
  EXPECT_EQ(bench.truth().at(0, 0), kBeforeFirstToken);
  EXPECT_EQ(bench.truth().at(0, 1), bench.prefix(0, 1));
  EXPECT_EQ(bench.truth().at(0, 3), bench.prefix(0, 3));
}

TEST(RowTruth, FoldingAnotherStepForgetsTheOneBefore) {
  RowBench first({}, {{.computed = 9, .query = 4}, {.computed = 2, .query = 2}});
  RowBench second({}, {{.computed = 3, .query = 1}});
  RowTruth truth;
  truth.fold(first.trace(), 4);
  truth.fold(second.trace(), 4);
  EXPECT_EQ(truth.num_computed_tokens(0), 3);
  EXPECT_THAT(truth.prefixes(0), ElementsAre(second.prefix(0, 3), second.prefix(0, 4)));
}

TEST(RowTruth, AWiderKernelHasALongerHistory) {
  RowBench bench({.conv_kernel = 6}, {{.computed = 7, .query = 1}});
  EXPECT_THAT(bench.truth().history(0),
              ElementsAre(bench.prefix(0, 3), bench.prefix(0, 4), bench.prefix(0, 5),
                          bench.prefix(0, 6), bench.prefix(0, 7)));
}

}  // namespace
}  // namespace hybridscope::test::row_truth_test
