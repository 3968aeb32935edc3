// preprocess, postprocess, advance and pre-copy over small batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/state/align_postprocess.h"
#include "core/state/align_precopy.h"
#include "core/state/align_preprocess.h"

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
const TensorView<std::int32_t> kTables[] = {matrix_view(kTable.data(), 2, 4)};

TEST(PostprocessV1, TheResetGoesToTheOutputAndLaterRowsKeepOldValues) {
  const Ints accepted{2, 2};
  const Ints state_idx{0, 0};
  const Ints scheduled{2, 2};
  const Ints computed{6, 3};
  const Ints drafts{1, 1};
  const auto result = run_fused_postprocess(small_layout(),
                                            {.num_reqs = 2,
                                             .num_accepted_tokens = accepted,
                                             .mamba_state_idx = state_idx,
                                             .num_scheduled_tokens = scheduled,
                                             .num_computed_tokens = computed,
                                             .num_draft_tokens = drafts,
                                             .block_tables = kTables},
                                            {9, 9, 9});
  EXPECT_THAT(result.value().num_accepted_tokens, ElementsAre(1, 2, 9));
  const StateCopy conv{
      .state_index = 0, .src_byte_offset = 5, .dst_byte_offset = 4, .row_bytes = 3};
  const StateCopy temporal{
      .state_index = 1, .src_byte_offset = 4, .dst_byte_offset = 2, .row_bytes = 2};
  EXPECT_THAT(result.value().copies, ElementsAre(RowStateCopy{0, conv}, RowStateCopy{0, temporal}));
}

TEST(PostprocessV1, WithoutRequestsNothingChanges) {
  const auto result = run_fused_postprocess(small_layout(), {}, {7});
  EXPECT_THAT(result.value().num_accepted_tokens, ElementsAre(7));
  EXPECT_THAT(result.value().copies, IsEmpty());
}

// Known bug 3: B = 8, K = 1, prompt 6, a = 2; all states use the count 2.
TEST(PostprocessV2, EveryStateDecidesWithTheCountFromBeforeTheReset) {
  const Ints idx_mapping{1, -1};
  const Ints accepted{3, 2};
  const Ints state_idx{0, 0};
  const Ints computed{8, 8};
  const auto result =
      run_fused_postprocess_align(small_layout(), {.num_reqs = 2,
                                                   .idx_mapping = idx_mapping,
                                                   .num_accepted_tokens = accepted,
                                                   .state_idx = state_idx,
                                                   .new_num_computed_tokens = computed,
                                                   .block_tables = kTables});
  EXPECT_THAT(result.value().num_accepted_tokens, ElementsAre(3, 1));
  ASSERT_THAT(result.value().copies, SizeIs(2));
  EXPECT_EQ(result.value().copies[1].copy.src_byte_offset, 2 * 2);  // column 1 of batch row 0
  EXPECT_EQ(result.value().decisions[1].outcome, StateCopyOutcome::padded_row);
}

TEST(PostprocessV2, ASlotOutsideTheArraysIsAnError) {
  const Ints idx_mapping{2};
  const Ints two{1, 1};
  EXPECT_FALSE(run_fused_postprocess_align(small_layout(), {.num_reqs = 1,
                                                            .idx_mapping = idx_mapping,
                                                            .num_accepted_tokens = two,
                                                            .state_idx = two,
                                                            .new_num_computed_tokens = two,
                                                            .block_tables = kTables})
                   .ok());
}

TEST(FusedStateCopy, AColumnOutsideTheTableIsAnError) {
  std::vector<RowStateCopy> copies;
  const Status status = append_row_copies(
      small_layout(), kTables,
      {.row = 0, .columns = {.src_col = 3, .dst_col = 2, .accept_token_bias = 1}}, copies);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "block table entry [0, 4] is outside its shape [2, 4]");
}

TEST(AlignAdvance, ACrossedBoundaryResetsTheCountAndNamesTheSource) {
  const AlignSlots slots{.state_idx = {2, 0, -1},
                         .src_col = {-1, -1, -1},
                         .src_off = {0, 0, 0},
                         .num_accepted_tokens = {3, 2, 1}};
  const Ints idx_mapping{1, 2};
  const Ints computed{5, 7, 0};
  const Ints query_start_loc{0, 2, 5};
  const auto result = preprocess_mamba_align({.num_reqs = 2,
                                              .block_size = 8,
                                              .idx_mapping = idx_mapping,
                                              .num_computed_tokens = computed,
                                              .query_start_loc = query_start_loc},
                                             slots);
  EXPECT_EQ(result.value().slots, (AlignSlots{.state_idx = {2, 1, 0},
                                              .src_col = {-1, 0, -1},
                                              .src_off = {0, 1, 0},
                                              .num_accepted_tokens = {3, 1, 1}}));
}

TEST(AlignAdvance, ARowWithoutASlotIsAnError) {
  const Ints idx_mapping{-1};
  const Ints computed{5};
  const Ints query_start_loc{0, 2};
  EXPECT_FALSE(preprocess_mamba_align({.num_reqs = 1,
                                       .block_size = 8,
                                       .idx_mapping = idx_mapping,
                                       .num_computed_tokens = computed,
                                       .query_start_loc = query_start_loc},
                                      make_align_slots(1))
                   .ok());
}

TEST(Precopy, RowsOfTheTableAreBatchRows) {
  const Ints idx_mapping{-1, 0};
  const Ints state_idx{1};
  const Ints src_col{0};
  const Ints src_off{1};
  const auto result = run_fused_precopy(small_layout(), {.num_reqs = 2,
                                                         .idx_mapping = idx_mapping,
                                                         .state_idx = state_idx,
                                                         .src_col = src_col,
                                                         .src_off = src_off,
                                                         .block_tables = kTables});
  ASSERT_THAT(result.value().copies, SizeIs(2));
  EXPECT_EQ(result.value().copies[0].row, 1);
  EXPECT_EQ(result.value().copies[0].copy.src_byte_offset, 11 * 4 + 1);
  EXPECT_EQ(result.value().copies[0].copy.dst_byte_offset, 12 * 4);
  EXPECT_EQ(result.value().copies[1].copy.src_byte_offset, 12 * 2);  // a copy to itself
}

struct TwoRequests {
  std::vector<RequestId> req_ids{kA, kB};
  Ints scheduled{2, 4};
  Ints computed{7, 0};
  std::vector<RequestBlockIds> block_ids{{{1, 2, 3}}, {{4, 5}}};
  Ints accepted{2, 1};
  PreprocessMambaInputs inputs() const {
    return {.req_ids = req_ids,
            .num_scheduled_tokens = scheduled,
            .num_computed_tokens = computed,
            .block_ids = block_ids,
            .num_accepted_tokens_cpu = accepted};
  }
};

TEST(PreprocessMamba, ARequestThatEntersANewColumnTakesItsStateAlong) {
  const TwoRequests batch;
  const auto result = preprocess_mamba(small_states(), batch.inputs(), {{kA, 0}});
  EXPECT_EQ(result.value().mamba_state_idx, (MambaStateIdx{{kA, 1}, {kB, 0}}));
  EXPECT_THAT(result.value().num_accepted_tokens_cpu, ElementsAre(1, 1));
  const StateCopy conv{
      .state_index = 0, .src_byte_offset = 5, .dst_byte_offset = 8, .row_bytes = 3};
  const StateCopy temporal{
      .state_index = 1, .src_byte_offset = 4, .dst_byte_offset = 4, .row_bytes = 2};
  EXPECT_THAT(result.value().copies, ElementsAre(conv, temporal));
}

TEST(PreprocessMamba, AResumedRequestForgetsItsColumn) {
  TwoRequests batch;
  batch.computed = {0, 0};
  PreprocessMambaInputs inputs = batch.inputs();
  const std::vector<RequestId> resumed{kA};
  inputs.gone.resumed_req_ids = resumed;
  const auto result = preprocess_mamba(small_states(), inputs, {{kA, 7}});
  EXPECT_THAT(result.value().copies, IsEmpty());
  EXPECT_EQ(result.value().mamba_state_idx, (MambaStateIdx{{kA, 0}, {kB, 0}}));
}

TEST(PreprocessMamba, WithoutPrefixCachingItIsRefused) {
  const TwoRequests batch;
  PreprocessMambaInputs inputs = batch.inputs();
  inputs.enable_prefix_caching = false;
  EXPECT_FALSE(preprocess_mamba(small_states(), inputs, {}).ok());
}

// The reference's V1 pre-copy refuses to shift a DS window (known bug 20).
TEST(PreprocessMamba, ADimFirstShiftIsRefused) {
  MambaStateTensors tensors = small_states();
  tensors.conv_state_layout = ConvStateLayout::DS;
  const TwoRequests batch;
  EXPECT_FALSE(preprocess_mamba(tensors, batch.inputs(), {{kA, 0}}).ok());
}

}  // namespace
}  // namespace hybridscope::align_batch_test
