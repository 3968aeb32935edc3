// In what order runner V2 lays rows out (semantics: row-order-v2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/engine/worker_bench_v2.h"

namespace hybridscope::test::row_order_v2_test {
namespace {

using testing::ElementsAre;

// K = 3, scheduler order A (4 tokens, verify), P (20, prefill), T (2, tail), D (1)
// (semantics: row-order-v2).
class RowOrderExample : public testing::Test {
 protected:
  Ids order(RowOrder policy) const {
    const std::vector<ScheduledTrace> scheduled = {
        {.num_scheduled_tokens = 4, .num_draft_tokens = 3},
        {.num_scheduled_tokens = 20},
        {.num_scheduled_tokens = 2},
        {.num_scheduled_tokens = 1}};
    const std::vector<RowClass> row_classes = {RowClass::verify, RowClass::prefill,
                                               RowClass::prefill, RowClass::verify};
    return order_rows_v2(
        {.scheduled = scheduled, .row_classes = row_classes, .num_speculative_tokens = 3}, policy);
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
    EXPECT_THAT(order_rows_v2({.scheduled = scheduled, .row_classes = row_classes}, order),
                ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace hybridscope::test::row_order_v2_test
