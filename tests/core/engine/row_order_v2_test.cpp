// In what order runner V2 lays rows out (semantics: row-order-v2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/worker_v2_policies.h"
#include "tests/core/engine/worker_bench_v2.h"

namespace hybridscope::test::row_order_v2_test {
namespace {

using testing::ElementsAre;

// K = 3, scheduler order A (4 tokens, verify), P (20, prefill), T (2, tail), D (1)
// (semantics: row-order-v2).
class RowOrderExample : public testing::Test {
 protected:
  Ids order(RowOrder policy, FullRowsFirst full_rows_first = FullRowsFirst::of_drafts) const {
    const std::vector<ScheduledTrace> scheduled = {
        {.num_scheduled_tokens = 4, .num_draft_tokens = 3},
        {.num_scheduled_tokens = 20},
        {.num_scheduled_tokens = 2},
        {.num_scheduled_tokens = 1}};
    const std::vector<RowClass> row_classes = {RowClass::verify, RowClass::prefill,
                                               RowClass::prefill, RowClass::verify};
    return order_rows_v2(
        {.scheduled = scheduled, .row_classes = row_classes, .num_speculative_tokens = 3}, policy,
        full_rows_first);
  }
};

TEST_F(RowOrderExample, TheReferenceOfJuneSortsByTokensAlone) {
  EXPECT_THAT(order(RowOrder::query_len), ElementsAre(3, 2, 0, 1));
}

TEST_F(RowOrderExample, TheReferenceOfAugustPutsRowsWithDraftsFirst) {
  EXPECT_THAT(order(RowOrder::drafts_then_query_len), ElementsAre(0, 3, 2, 1));
}

TEST_F(RowOrderExample, SafePutsDecodesFirst) {
  EXPECT_THAT(order(RowOrder::decodes_then_query_len), ElementsAre(3, 0, 2, 1));
}

TEST(RowOrder, RowsOfEqualKeyStayInTheSchedulersOrder) {
  const std::vector<ScheduledTrace> scheduled(3, {.num_scheduled_tokens = 2});
  const std::vector<RowClass> row_classes(3, RowClass::verify);
  for (const RowOrder order :
       {RowOrder::decodes_then_query_len, RowOrder::query_len, RowOrder::drafts_then_query_len})
    EXPECT_THAT(order_rows_v2({.scheduled = scheduled, .row_classes = row_classes}, order,
                              FullRowsFirst::every_row),
                ElementsAre(0, 1, 2));
}

// K = 2, scheduler order A (3 tokens, verify), T (1, decode without drafts), P (3, a chunk of a
// prompt), B (2, verify).
class FullRows : public testing::Test {
 protected:
  Ids order(RowOrder policy, FullRowsFirst full_rows_first) const {
    const std::vector<ScheduledTrace> scheduled = {
        {.num_scheduled_tokens = 3, .num_draft_tokens = 2},
        {.num_scheduled_tokens = 1},
        {.num_scheduled_tokens = 3},
        {.num_scheduled_tokens = 2, .num_draft_tokens = 1}};
    const std::vector<RowClass> row_classes = {RowClass::verify, RowClass::verify,
                                               RowClass::prefill, RowClass::verify};
    return order_rows_v2(
        {.scheduled = scheduled, .row_classes = row_classes, .num_speculative_tokens = 2}, policy,
        full_rows_first);
  }
};

// A, B, P, T as in the packages 0.28.0 to 0.33.0; A, P, T, B as in 0.26.0 and 0.27.1.
TEST_F(FullRows, AChunkAsLongAsAVerifyRowStandsBeforeADecodeRow) {
  EXPECT_THAT(order(RowOrder::drafts_then_query_len, FullRowsFirst::every_row),
              ElementsAre(0, 3, 2, 1));
  EXPECT_THAT(order(RowOrder::verify_then_query_len, FullRowsFirst::every_row),
              ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(order(RowOrder::decodes_then_query_len, FullRowsFirst::every_row),
              ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(order(RowOrder::query_len, FullRowsFirst::every_row), ElementsAre(0, 2, 1, 3));
}

TEST_F(FullRows, OfDraftsAloneTheChunkIsSortedByItsTokens) {
  EXPECT_THAT(order(RowOrder::drafts_then_query_len, FullRowsFirst::of_drafts),
              ElementsAre(0, 3, 1, 2));
  EXPECT_THAT(order(RowOrder::verify_then_query_len, FullRowsFirst::of_drafts),
              ElementsAre(0, 1, 3, 2));
  EXPECT_THAT(order(RowOrder::decodes_then_query_len, FullRowsFirst::of_drafts),
              ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(order(RowOrder::query_len, FullRowsFirst::of_drafts), ElementsAre(1, 3, 0, 2));
}

}  // namespace
}  // namespace hybridscope::test::row_order_v2_test
