// The order of rows of V1 (semantics: input-batch, reorder-batch) and of V2 (semantics:
// request-slots, row-order-v2).
#include "tests/support/naive_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hybridscope::test::naive_batch_test {
namespace {

using ::testing::ElementsAre;

constexpr int A = 0, B = 1, C = 2, D = 3, E = 4;

NaiveBatchEntry decode(int request, int q = 3) {
  return {.request = request, .c = 9, .q = q, .decode = true};
}
NaiveBatchEntry prefill(int request, int q, bool is_new = false) {
  return {.request = request, .c = 0, .q = q, .admitted = is_new};
}
NaiveBatchEntry extend(int request, int q) { return {.request = request, .c = 8, .q = q}; }

// The requests in row order.
std::vector<int> rows(NaiveBatchV1& batch, const std::vector<NaiveBatchEntry>& scheduled) {
  std::vector<int> result;
  for (const int index : batch.update(scheduled))
    result.push_back(scheduled.at(static_cast<std::size_t>(index)).request);
  return result;
}

NaiveBatchV1 four_rows(const std::vector<NaiveBatchEntry>& scheduled) {
  NaiveBatchV1 batch(3);
  EXPECT_THAT(rows(batch, scheduled), ElementsAre(A, B, C, D));
  return batch;
}

TEST(NaiveBatchV1, NewRowsFillHolesAndDecodesComeFirst) {  // (semantics: input-batch)
  NaiveBatchV1 batch = four_rows({decode(A), decode(B), decode(C), decode(D)});
  EXPECT_THAT(rows(batch, {decode(A), decode(D), prefill(E, 9, true)}), ElementsAre(A, D, E));
  EXPECT_THAT(rows(batch, {decode(A), decode(C), decode(D), decode(E)}), ElementsAre(A, D, E, C));
}

TEST(NaiveBatchV1, ReorderGoesCycleByCycleAndIsNotStable) {  // (semantics: reorder-batch)
  NaiveBatchV1 batch = four_rows({prefill(A, 5), prefill(B, 3), prefill(C, 3), prefill(D, 2)});
  EXPECT_THAT(rows(batch, {prefill(A, 5), decode(B), decode(C), extend(D, 2)}),
              ElementsAre(C, B, D, A));
}

TEST(NaiveBatchV1, LongExtendsStandBetweenShortOnesAndPrefills) {
  NaiveBatchV1 batch(3);
  EXPECT_THAT(rows(batch, {prefill(A, 1), extend(B, 4), extend(C, 3), decode(D)}),
              ElementsAre(D, C, B, A));
}

TEST(NaiveSlotsV2, TheLastFreeSlotIsTakenAndAFreedOneComesBackFirst) {
  NaiveSlotsV2 slots(4);
  EXPECT_EQ(slots.add(A), 3);
  EXPECT_EQ(slots.add(B), 2);
  EXPECT_EQ(slots.add(C), 1);
  slots.free(A);
  slots.free(B);
  slots.free(B);  // has no slot
  EXPECT_EQ(slots.add(D), 2);
  EXPECT_EQ(slots.add(E), 3);
  EXPECT_EQ(slots.slot_of(C), 1);
}

// Scheduler order A (verify), P (prefill), T (tail), D (no drafts) (semantics: row-order-v2).
TEST(NaiveOrderV2, DecodeRowsStandBeforeAllOthers) {
  const std::vector<NaiveBatchEntry> scheduled = {decode(0, 4), prefill(1, 20), extend(2, 2),
                                                  decode(3, 1)};
  EXPECT_THAT(naive_v2_order(scheduled, true), ElementsAre(3, 0, 2, 1));
  EXPECT_THAT(naive_v2_order(scheduled, false), ElementsAre(3, 2, 0, 1));
}

TEST(NaiveOrderV2, EqualLengthsStayInSchedulerOrder) {
  EXPECT_THAT(naive_v2_order({decode(0), decode(1, 1), decode(2), prefill(3, 3)}, true),
              ElementsAre(1, 0, 2, 3));
}

}  // namespace
}  // namespace hybridscope::test::naive_batch_test
