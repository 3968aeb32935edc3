// preprocess, postprocess, advance and pre-copy over small batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/state/copy_launch.h"
#include "core/state/mode_copies.h"
#include "sessions/conformance/planned_copies.h"

namespace hybridscope::align_batch_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Ints = std::vector<std::int32_t>;

constexpr RequestId kA{0};
constexpr RequestId kB{1};

// One group, one layer: conv [4 positions, dim 1] and temporal [2], one byte each; 32 blocks.
MambaStateTensors small_states() {
  return {
      .conv_state_layout = ConvStateLayout::SD,
      .block_size = 8,
      .mamba_group_ids = {0},
      .state_kinds = {StateKind::conv, StateKind::temporal},
      .layers = {{.group_index = 0, .states = {{{32, 4, 1}, {4, 1, 1}, 1}, {{32, 2}, {2, 1}, 1}}}}};
}

StateLayout small_layout() {
  const std::int64_t strides[] = {4};
  return make_state_layout(small_states(), strides).value();
}

const Ints kTable{1, 2, 3, 4, 11, 12, 13, 14};  // two rows of four columns
const MambaBlockTable kTables[] = {{.group = 0, .ids = matrix_view(kTable.data(), 2, 4)}};

// Decision number r is of row r.
CopyLaunch launch_of(const std::vector<StateCopyDecision>& decisions, MambaBlockTables tables) {
  CopyLaunch launch;
  for (const StateCopyDecision& decision : decisions)
    launch.decisions.push_back({.request = {},
                                .row = static_cast<std::int32_t>(launch.decisions.size()),
                                .decision = decision});
  collect_batch_copy_meta(decisions, tables, launch.copies);
  return launch;
}

TEST(PostprocessV1, TheResetGoesToTheOutputAndLaterRowsKeepOldValues) {
  const Ints accepted{2, 2};
  const Ints state_idx{0, 0};
  const Ints scheduled{2, 2};
  const Ints computed{6, 3};
  const Ints drafts{1, 1};
  Ints out{9, 9, 9};
  std::vector<StateCopyDecision> decisions;
  EXPECT_TRUE(run_fused_postprocess({.num_reqs = 2,
                                     .block_size = 8,
                                     .num_accepted_tokens = accepted,
                                     .mamba_state_idx = state_idx,
                                     .num_scheduled_tokens = scheduled,
                                     .num_computed_tokens = computed,
                                     .num_draft_tokens = drafts},
                                    out, decisions)
                  .ok());
  EXPECT_THAT(out, ElementsAre(1, 2, 9));
  const StateCopy conv{
      .state_index = 0, .src_byte_offset = 5, .dst_byte_offset = 4, .row_bytes = 3};
  const StateCopy temporal{
      .state_index = 1, .src_byte_offset = 4, .dst_byte_offset = 2, .row_bytes = 2};
  const auto copies = plan_fused_copies(small_layout(), launch_of(decisions, kTables));
  EXPECT_THAT(copies.value(), ElementsAre(RowStateCopy{0, conv}, RowStateCopy{0, temporal}));
}

TEST(PostprocessV1, WithoutRequestsNothingChanges) {
  Ints out{7};
  std::vector<StateCopyDecision> decisions;
  PostprocessV1Inputs nothing;
  nothing.block_size = 8;
  EXPECT_TRUE(run_fused_postprocess(nothing, out, decisions).ok());
  EXPECT_THAT(out, ElementsAre(7));
  EXPECT_THAT(decisions, IsEmpty());
}

// Known bug 3: B = 8, K = 1, prompt 6, a = 2; all states use the count 2.
TEST(PostprocessV2, EveryStateDecidesWithTheCountFromBeforeTheReset) {
  const Ints idx_mapping{1, -1};
  Ints accepted{3, 2};
  const Ints state_idx{0, 0};
  const Ints computed{8, 8};
  std::vector<StateCopyDecision> decisions;
  EXPECT_TRUE(run_fused_postprocess_align({.num_reqs = 2,
                                           .block_size = 8,
                                           .idx_mapping = idx_mapping,
                                           .state_idx = state_idx,
                                           .new_num_computed_tokens = computed},
                                          accepted, decisions)
                  .ok());
  EXPECT_THAT(accepted, ElementsAre(3, 1));
  EXPECT_EQ(decisions[1].outcome, StateCopyOutcome::padded_row);
  const auto copies = plan_fused_copies(small_layout(), launch_of(decisions, kTables));
  ASSERT_THAT(copies.value(), SizeIs(2));
  EXPECT_EQ(copies.value()[1].copy.src_byte_offset, 2 * 2);  // column 1 of batch row 0
}

TEST(PostprocessV2, ASlotOutsideTheArraysIsAnError) {
  const Ints idx_mapping{2};
  Ints two{1, 1};
  std::vector<StateCopyDecision> decisions;
  EXPECT_FALSE(run_fused_postprocess_align({.num_reqs = 1,
                                            .block_size = 8,
                                            .idx_mapping = idx_mapping,
                                            .state_idx = two,
                                            .new_num_computed_tokens = two},
                                           two, decisions)
                   .ok());
}

// Row 1 has blocks 11, 12, 13, 14: conv from column 1, temporal from column 1 + 2, to column 0.
StateCopyDecision shifted_copy() {
  StateCopyDecision decision;
  decision.outcome = StateCopyOutcome::copy;
  decision.src_col = 1;
  decision.dst_col = 0;
  decision.accept_token_bias = 2;
  return decision;
}

TEST(CollectCopies, EachGroupUsesTheBlocksOfItsOwnTable) {
  const Ints other{21, 22, 23, 24, 31, 32, 33, 34};
  const MambaBlockTable tables[] = {kTables[0],
                                    {.group = 2, .ids = matrix_view(other.data(), 2, 4)}};
  std::vector<StateCopyTrace> copies;
  collect_mamba_copy_meta(shifted_copy(), {.decision = 5, .row = 1}, tables, copies);
  ASSERT_THAT(copies, SizeIs(2));
  EXPECT_EQ(copies[0].decision, 5);
  EXPECT_EQ(copies[0].group, 0);
  EXPECT_EQ(copies[0].conv_src_block, 12);
  EXPECT_EQ(copies[0].temporal_src_block, 14);
  EXPECT_EQ(copies[0].dst_block, 11);
  EXPECT_EQ(copies[0].accept_token_bias, 2);
  EXPECT_EQ(copies[1].group, 2);
  EXPECT_EQ(copies[1].conv_src_block, 32);
  EXPECT_EQ(copies[1].temporal_src_block, 34);
  EXPECT_EQ(copies[1].dst_block, 31);
  use_blocks_of_first_group(copies);
  EXPECT_EQ(copies[1].conv_src_block, 12);
  EXPECT_EQ(copies[1].dst_block, 11);
}

TEST(CollectCopies, ADecisionThatCopiesNothingHasNone) {
  StateCopyDecision decision = shifted_copy();
  decision.outcome = StateCopyOutcome::self_copy_skipped;
  std::vector<StateCopyTrace> copies;
  collect_mamba_copy_meta(decision, {.decision = 0, .row = 1}, kTables, copies);
  EXPECT_THAT(copies, IsEmpty());
}

TEST(CollectCopies, AColumnBehindTheRowsBlocksIsThePadId) {
  const Ints num_blocks{4, 2};
  const MambaBlockTable tables[] = {
      {.group = 0, .ids = kTables[0].ids, .num_blocks_per_row = num_blocks}};
  std::vector<StateCopyTrace> copies;
  collect_mamba_copy_meta(shifted_copy(), {.decision = 0, .row = 1}, tables, copies);
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_EQ(copies[0].conv_src_block, 12);
  EXPECT_EQ(copies[0].temporal_src_block, kPadSlotId);
}

TEST(CopyVariants, ACopyToTheLeftOfTheRunningColumnIsSuppressed) {
  StateCopyDecision forward = shifted_copy();
  forward.dst_col = 2;
  std::vector<StateCopyDecision> decisions{shifted_copy(), forward};
  suppress_backward_copies(decisions);
  EXPECT_EQ(decisions[0].outcome, StateCopyOutcome::no_boundary);
  EXPECT_EQ(decisions[1].outcome, StateCopyOutcome::copy);
}

// Known bug 3: only V2's rule writes the count in place.
TEST(CopyVariants, AResetInPlaceLosesTheCopyOfV2) {
  StateCopyDecision v2 = shifted_copy();
  v2.rule = StateCopyRule::postprocess_mamba_v2;
  v2.resets_accepted_count = true;
  StateCopyDecision v1 = v2;
  v1.rule = StateCopyRule::postprocess_mamba_v1;
  std::vector<StateCopyDecision> decisions{v2, v1};
  skip_copies_with_reset_in_place(decisions);
  EXPECT_EQ(decisions[0].outcome, StateCopyOutcome::self_copy_skipped);
  EXPECT_EQ(decisions[1].outcome, StateCopyOutcome::copy);
}

TEST(PlannedCopies, ABlockOutsideTheStateIsAnError) {
  std::vector<StateCopyDecision> decisions{shifted_copy()};
  decisions[0].src_col = 3;
  const auto copies = plan_fused_copies(small_layout(), launch_of(decisions, kTables));
  ASSERT_FALSE(copies.ok());
  EXPECT_EQ(copies.error().message,
            "block -1 of a copy in group 0 is outside a state of 32 blocks");
}

TEST(AlignAdvance, ACrossedBoundaryResetsTheCountAndNamesTheSource) {
  AlignSlots slots{.state_idx = {2, 0, -1},
                   .src_col = {-1, -1, -1},
                   .src_off = {0, 0, 0},
                   .num_accepted_tokens = {3, 2, 1}};
  const Ints idx_mapping{1, 2};
  const Ints computed{5, 7, 0};
  const Ints query_start_loc{0, 2, 5};
  std::vector<StateCopyDecision> decisions;
  EXPECT_TRUE(preprocess_mamba_align({.num_reqs = 2,
                                      .block_size = 8,
                                      .idx_mapping = idx_mapping,
                                      .num_computed_tokens = computed,
                                      .query_start_loc = query_start_loc},
                                     slots, decisions)
                  .ok());
  EXPECT_EQ(slots, (AlignSlots{.state_idx = {2, 1, 0},
                               .src_col = {-1, 0, -1},
                               .src_off = {0, 1, 0},
                               .num_accepted_tokens = {3, 1, 1}}));
}

TEST(AlignAdvance, ARowWithoutASlotIsAnErrorAndNothingAdvances) {
  const Ints idx_mapping{0, -1};
  const Ints computed{5};
  const Ints query_start_loc{0, 2, 4};
  AlignSlots slots = make_align_slots(1);
  std::vector<StateCopyDecision> decisions;
  EXPECT_FALSE(preprocess_mamba_align({.num_reqs = 2,
                                       .block_size = 8,
                                       .idx_mapping = idx_mapping,
                                       .num_computed_tokens = computed,
                                       .query_start_loc = query_start_loc},
                                      slots, decisions)
                   .ok());
  EXPECT_EQ(slots, make_align_slots(1));
}

TEST(Precopy, RowsOfTheTableAreBatchRows) {
  const Ints idx_mapping{-1, 0};
  const AlignSlots slots{
      .state_idx = {1}, .src_col = {0}, .src_off = {1}, .num_accepted_tokens = {1}};
  std::vector<StateCopyDecision> decisions;
  EXPECT_TRUE(run_fused_precopy(idx_mapping, slots, decisions).ok());
  const auto copies = plan_fused_copies(small_layout(), launch_of(decisions, kTables)).value();
  ASSERT_THAT(copies, SizeIs(2));
  EXPECT_EQ(copies[0].row, 1);
  EXPECT_EQ(copies[0].copy.src_byte_offset, 11 * 4 + 1);
  EXPECT_EQ(copies[0].copy.dst_byte_offset, 12 * 4);
  EXPECT_EQ(copies[1].copy.src_byte_offset, 12 * 2);  // a copy to itself
}

struct TwoRequests {
  std::vector<RequestId> req_ids{kA, kB};
  Ints scheduled{2, 4};
  Ints computed{7, 0};
  Ints accepted{2, 1};
  std::vector<StateCopyDecision> decisions;

  PreprocessMambaInputs inputs() const {
    return {.block_size = 8,
            .req_ids = req_ids,
            .num_scheduled_tokens = scheduled,
            .num_computed_tokens = computed};
  }
};

TEST(PreprocessMamba, ARequestThatEntersANewColumnTakesItsStateAlong) {
  TwoRequests batch;
  MambaStateIdx columns{{kA, 0}};
  EXPECT_TRUE(preprocess_mamba(batch.inputs(), columns, batch.accepted, batch.decisions).ok());
  EXPECT_EQ(columns, (MambaStateIdx{{kA, 1}, {kB, 0}}));
  EXPECT_THAT(batch.accepted, ElementsAre(1, 1));
  const StateCopy conv{
      .state_index = 0, .src_byte_offset = 5, .dst_byte_offset = 8, .row_bytes = 3};
  const StateCopy temporal{
      .state_index = 1, .src_byte_offset = 4, .dst_byte_offset = 4, .row_bytes = 2};
  const auto copies = plan_batched_copies(small_states(), launch_of(batch.decisions, kTables));
  EXPECT_THAT(copies.value(), ElementsAre(conv, temporal));
}

// An entry of another run would be copied from: the cleanup takes it away.
TEST(PreprocessMamba, AResumedRequestForgetsItsColumn) {
  TwoRequests batch;
  batch.computed = {0, 0};
  MambaStateIdx columns{{kA, 7}};
  const std::vector<RequestId> resumed{kA};
  cleanup_mamba_state_idx({.resumed_req_ids = resumed}, columns);
  EXPECT_TRUE(preprocess_mamba(batch.inputs(), columns, batch.accepted, batch.decisions).ok());
  EXPECT_FALSE(batch.decisions[0].copies());
  EXPECT_EQ(columns, (MambaStateIdx{{kA, 0}, {kB, 0}}));
}

TEST(PreprocessMamba, WithoutPrefixCachingItIsRefusedAndNothingChanges) {
  TwoRequests batch;
  PreprocessMambaInputs inputs = batch.inputs();
  inputs.enable_prefix_caching = false;
  MambaStateIdx columns{{kA, 0}};
  EXPECT_FALSE(preprocess_mamba(inputs, columns, batch.accepted, batch.decisions).ok());
  EXPECT_EQ(columns, (MambaStateIdx{{kA, 0}}));
}

// The reference's V1 pre-copy refuses to shift a DS window (known bug 20).
TEST(PlannedCopies, InTheBatchedCopyADimFirstShiftIsRefused) {
  MambaStateTensors tensors = small_states();
  const std::vector<StateCopyDecision> decisions{shifted_copy()};
  EXPECT_TRUE(plan_batched_copies(tensors, launch_of(decisions, kTables)).ok());
  tensors.conv_state_layout = ConvStateLayout::DS;
  EXPECT_FALSE(plan_batched_copies(tensors, launch_of(decisions, kTables)).ok());
}

}  // namespace
}  // namespace hybridscope::align_batch_test
