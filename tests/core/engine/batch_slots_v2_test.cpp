#include "core/engine/batch_slots_v2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/base/check.h"

namespace hybridscope::test::batch_slots_v2_test {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;

constexpr RequestId A{0}, B{1}, C{2}, D{3}, E{4};

// Four slots, one group of six columns.
BatchSlotsV2 four_slots() { return BatchSlotsV2(4, Ids{6}); }

std::int32_t add(BatchSlotsV2& slots, RequestId request, Ids ids = {}) {
  const std::int32_t slot = slots.add({.request = request, .num_tokens = 6});
  slots.set_block_ids(slot, 0, ids);
  return slot;
}

Ids input_row(BatchSlotsV2& slots, std::int32_t row, std::int32_t columns) {
  Ids ids;
  const auto rows = slots.input_block_tables()[0].rows(row + 1);
  for (std::int32_t column = 0; column < columns; ++column) ids.push_back(rows.at(row, column));
  return ids;
}

// The first request gets max - 1, the next max - 2 (semantics: request-slots).
TEST(BatchSlotsV2, RequestsTakeTheLastFreeSlot) {
  BatchSlotsV2 slots = four_slots();
  EXPECT_THAT(slots.free_slots(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(add(slots, A), 3);
  EXPECT_EQ(add(slots, B), 2);
  EXPECT_EQ(slots.slot_of(A), 3);
  EXPECT_EQ(slots.slot_of(C), -1);
  EXPECT_THAT(slots.free_slots(), ElementsAre(0, 1));
}

TEST(BatchSlotsV2, AFreedSlotIsTakenFirst) {
  BatchSlotsV2 slots = four_slots();
  for (const RequestId request : {A, B, C}) add(slots, request);
  slots.free(A);
  slots.free(C);
  EXPECT_THAT(slots.free_slots(), ElementsAre(0, 3, 1));
  EXPECT_EQ(add(slots, D), 1);
  EXPECT_EQ(add(slots, E), 3);
}

TEST(BatchSlotsV2, ASlotKeepsItsCountAndColumnsForTheNextRequest) {
  BatchSlotsV2 slots = four_slots();
  RequestSlot& slot = slots.slot(add(slots, A));
  slots.align().num_accepted_tokens[3] = 3;
  slots.align().state_idx[3] = 5;
  slot.last_scheduled_col = 2;
  slots.free(A);
  ASSERT_EQ(add(slots, B), 3);
  EXPECT_EQ(slot.request, B);
  EXPECT_EQ(slots.align().num_accepted_tokens[3], 3);
  EXPECT_EQ(slots.align().state_idx[3], 5);
  EXPECT_EQ(slot.last_scheduled_col, -1);
  EXPECT_EQ(slot.prefill_len, 6);
}

// Prompt 6, 5 outputs when it is resumed, chunks of 8 and 3 (semantics: is-prefilling).
TEST(BatchSlotsV2, AResumedRequestPrefillsEverythingItKnew) {
  BatchSlotsV2 slots = four_slots();
  RequestSlot& slot = slots.slot(slots.add({.request = A, .num_tokens = 11}));
  EXPECT_TRUE(slot.is_prefilling());
  slot.num_computed_tokens_reported = 8;
  EXPECT_EQ(slot.num_computed_prefill(), 8);
  EXPECT_TRUE(slot.is_prefilling());
  slot.num_computed_tokens_reported = 13;
  EXPECT_EQ(slot.num_computed_prefill(), 11);
  EXPECT_FALSE(slot.is_prefilling());
}

TEST(BatchSlotsV2, RowsAreGatheredFromTheirSlots) {
  BatchSlotsV2 slots = four_slots();
  add(slots, A, {10, 11});
  add(slots, B, {20});
  slots.append_block_ids(slots.slot_of(B), 0, Ids{21, 22});
  slots.gather(Ids{2, 3});
  EXPECT_THAT(slots.input_block_tables()[0].row(0), ElementsAre(20, 21, 22));
  EXPECT_THAT(slots.input_block_tables()[0].row(1), ElementsAre(10, 11));
  EXPECT_EQ(slots.slot(2).row, 0);
  EXPECT_EQ(slots.slot(3).row, 1);
}

// The input row keeps what the longer row of the step before left behind
// (semantics: gather-block-tables).
TEST(BatchSlotsV2, GatheringKeepsOlderEntriesBeyondTheSlotsIds) {
  BatchSlotsV2 slots = four_slots();
  add(slots, A, {10, 11, 12});
  add(slots, B, {20});
  slots.gather(Ids{3});
  slots.gather(Ids{2});
  EXPECT_THAT(slots.input_block_tables()[0].row(0), ElementsAre(20));
  EXPECT_THAT(input_row(slots, 0, 4), ElementsAre(20, 11, 12, 0));
}

TEST(BatchSlotsV2, AnAdmittedRequestOverwritesTheListFromColumnZeroOn) {
  BatchSlotsV2 slots = four_slots();
  add(slots, A, {10, 11, 12});
  slots.free(A);
  add(slots, B, {20});
  slots.gather(Ids{3});
  EXPECT_THAT(slots.input_block_tables()[0].row(0), ElementsAre(20));
}

TEST(BatchSlotsV2, ARowBecomesThePreviousRow) {
  BatchSlotsV2 slots = four_slots();
  add(slots, A);
  add(slots, B);
  slots.start_step();
  slots.gather(Ids{2, 3});
  slots.start_step();
  slots.gather(Ids{3});
  EXPECT_EQ(slots.slot(3).previous_row, 1);
  EXPECT_EQ(slots.slot(2).previous_row, 0);
  slots.start_step();
  EXPECT_EQ(slots.slot(3).previous_row, 0);
  EXPECT_EQ(slots.slot(2).previous_row, -1);
}

TEST(BatchSlotsV2, ARequestHasOneSlotAndThereAreNoMoreThanMaxNumReqs) {
  BatchSlotsV2 slots = four_slots();
  EXPECT_THROW(slots.free(A), ContractViolation);
  for (const RequestId request : {A, B, C, D}) add(slots, request);
  EXPECT_THROW(add(slots, A), ContractViolation);
  EXPECT_THROW(add(slots, E), ContractViolation);
}

}  // namespace
}  // namespace hybridscope::test::batch_slots_v2_test
