#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/base/result.h"
#include "core/engine/batch_slots_v2.h"
#include "core/engine/worker_policies.h"
#include "tests/core/engine/worker_bench_v2.h"

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

// In what order runner V2 lays rows out (semantics: row-order-v2).

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

// The worked example of runner V2's slots (semantics: accepted-counts-v2).

using enum Admission;

// At most 4 requests, align, B = 4, K = 1.
class SlotExample : public testing::Test {
 protected:
  SlotExample()
      : bench_(config_v2({.block_size = 4,
                          .num_speculative_tokens = 1,
                          .num_attention_groups = 0,
                          .max_model_len = 32,
                          .max_num_seqs = 4})) {
    bench_.add(6);
    bench_.add(5);
  }
  const StepTrace& frame_1() {
    return bench_.frame(
        {{.request = A, .admission = new_request, .q = 6, .known = 6, .new_blocks = {0, 1, 2}}});
  }
  const StepTrace& frame_2() {
    return bench_.frame({{.request = A, .c = 6, .q = 2, .d = 1, .known = 7, .a = 2}});
  }
  const StepTrace& frame_3() {
    return bench_.frame({{.request = A, .c = 8, .q = 2, .d = 1, .known = 9, .new_blocks = {3}},
                         {.request = B,
                          .admission = new_request,
                          .c = 4,
                          .q = 2,
                          .d = 1,
                          .known = 5,
                          .new_blocks = {7, 8, 9},
                          .padded = true}});
  }
  WorkerBenchV2 bench_;
};

TEST_F(SlotExample, APromptStartsInItsLastColumn) {
  const StepTrace& trace = frame_1();
  EXPECT_THAT(idx_mapping(trace), ElementsAre(3));
  EXPECT_TRUE(trace.pre_copies.copies.empty());
  EXPECT_EQ(trace.pre_copies.decisions.at(0).decision.outcome, StateCopyOutcome::fresh_state);
  EXPECT_EQ(trace.post_copies.decisions.at(0).decision.outcome, StateCopyOutcome::no_boundary);
  EXPECT_EQ(bench_.align().src_col[3], -1);
  EXPECT_EQ(bench_.align().state_idx[3], 1);
  EXPECT_EQ(bench_.slots().num_computed_tokens()[3], 6);
  EXPECT_EQ(bench_.align().num_accepted_tokens[3], 1);
}

TEST_F(SlotExample, ABoundaryInTheRunningColumnIsShiftedIntoPlace) {
  frame_1();
  const StepTrace& trace = frame_2();
  EXPECT_TRUE(trace.pre_copies.copies.empty());
  ASSERT_EQ(trace.post_copies.decisions.size(), 1U);
  const StateCopyDecision& post = trace.post_copies.decisions[0].decision;
  EXPECT_EQ(post.rule, StateCopyRule::postprocess_mamba_v2);
  EXPECT_EQ(post.new_num_computed_tokens, 8);
  EXPECT_EQ(post.num_tokens_running_state, 7);
  EXPECT_EQ(post.outcome, StateCopyOutcome::within_block_shift);
  ASSERT_EQ(trace.post_copies.copies.size(), 1U);
  const StateCopyTrace& copy = trace.post_copies.copies[0];
  EXPECT_EQ(copy.conv_src_block, 1);
  EXPECT_EQ(copy.temporal_src_block, 2);
  EXPECT_EQ(copy.dst_block, 1);
  EXPECT_EQ(copy.accept_token_bias, 1);
  EXPECT_EQ(bench_.slots().num_computed_tokens()[3], 8);
  EXPECT_EQ(bench_.align().num_accepted_tokens[3], 1);
}

TEST_F(SlotExample, BothRequestsMoveTheirStateToTheNextColumn) {
  frame_1();
  frame_2();
  const StepTrace& trace = frame_3();
  EXPECT_THAT(requests(trace), ElementsAre(A, B));
  EXPECT_THAT(idx_mapping(trace), ElementsAre(3, 2));
  EXPECT_EQ(bench_.align().src_col[3], 1);
  EXPECT_EQ(bench_.align().src_off[3], 0);
  EXPECT_EQ(bench_.align().state_idx[3], 2);
  EXPECT_EQ(bench_.align().src_col[2], 0);
  EXPECT_EQ(bench_.align().src_off[2], 0);
  EXPECT_EQ(bench_.align().state_idx[2], 1);
  ASSERT_EQ(trace.pre_copies.copies.size(), 2U);
  EXPECT_EQ(trace.pre_copies.copies[0].conv_src_block, 1);
  EXPECT_EQ(trace.pre_copies.copies[0].dst_block, 2);
  EXPECT_EQ(trace.pre_copies.copies[1].conv_src_block, 7);
  EXPECT_EQ(trace.pre_copies.copies[1].dst_block, 8);
  EXPECT_EQ(trace.rows[0].num_draft_count, 1);
  EXPECT_FALSE(trace.rows[0].is_prefilling);
  EXPECT_EQ(trace.rows[1].num_draft_count, -1);
  EXPECT_TRUE(trace.rows[1].is_prefilling);
  EXPECT_EQ(trace.rows[0].origin, RowOrigin::kept);
  EXPECT_EQ(trace.rows[1].origin, RowOrigin::added);
}

TEST_F(SlotExample, TheListedDecisionIsWhatThePreCopyKernelDoes) {
  frame_1();
  frame_2();
  for (const CopyDecisionTrace& entry : frame_3().pre_copies.decisions) {
    const auto slot = static_cast<std::size_t>(bench_.slots().slot_of(entry.request));
    const StateCopyDecision kernel =
        decide_precopy_v2({.src_col = bench_.align().src_col[slot],
                           .src_off = bench_.align().src_off[slot],
                           .state_idx = bench_.align().state_idx[slot]});
    EXPECT_EQ(kernel.copies(), entry.decision.copies());
    EXPECT_EQ(kernel.src_col, entry.decision.src_col);
    EXPECT_EQ(kernel.dst_col, entry.decision.dst_col);
    EXPECT_EQ(kernel.accept_token_bias, entry.decision.accept_token_bias);
  }
}

}  // namespace

}  // namespace hybridscope::test::batch_slots_v2_test
