#include "core/state/state_copy.h"

#include <gtest/gtest.h>

#include "core/state/copy_of_state.h"
#include "core/state/state_layout.h"

namespace hybridscope::state_copy_test {
namespace {

// One layer, conv [positions 5, dim 3] and temporal [4], bfloat16, pages of 32 elements.
MambaStateTensors one_layer(ConvStateLayout layout) {
  const StateTensor conv = layout == ConvStateLayout::SD ? StateTensor{{8, 5, 3}, {32, 3, 1}, 2}
                                                         : StateTensor{{8, 3, 5}, {32, 5, 1}, 2};
  return {.conv_state_layout = layout,
          .block_size = 4,
          .mamba_group_ids = {1},
          .state_kinds = {StateKind::conv, StateKind::temporal},
          .layers = {{.group_index = 0, .states = {conv, {{8, 4}, {32, 1}, 2}}}}};
}

StateLayout layout_of(const MambaStateTensors& tensors) {
  const std::int64_t strides[] = {6};
  return make_state_layout(tensors, strides).value();
}

TEST(StateCopy, AConvWindowInSdIsOneRegionFromTheBias) {
  const StateLayout layout = layout_of(one_layer(ConvStateLayout::SD));
  const StateCopy copy = make_state_copy(0, layout.geometry(0),
                                         {.src_block = 3, .dst_block = 2, .accept_token_bias = 2});
  EXPECT_EQ(copy, (StateCopy{.state_index = 0,
                             .num_rows = 1,
                             .src_byte_offset = 3 * 64 + 2 * 6,
                             .dst_byte_offset = 2 * 64,
                             .row_bytes = 3 * 6,
                             .row_stride_bytes = 0}));
}

TEST(StateCopy, AConvWindowInDsShiftsInEveryRow) {
  const StateLayout layout = layout_of(one_layer(ConvStateLayout::DS));
  const StateCopy copy = make_state_copy(0, layout.geometry(0),
                                         {.src_block = 3, .dst_block = 2, .accept_token_bias = 2});
  EXPECT_EQ(copy, (StateCopy{.state_index = 0,
                             .num_rows = 3,
                             .src_byte_offset = 3 * 64 + 2 * 2,
                             .dst_byte_offset = 2 * 64,
                             .row_bytes = 3 * 2,
                             .row_stride_bytes = 10}));
}

TEST(StateCopy, ATemporalStateIsCopiedWithoutThePagesPadding) {
  const StateLayout layout = layout_of(one_layer(ConvStateLayout::SD));
  const StateCopy copy = make_state_copy(1, layout.geometry(1),
                                         {.src_block = 3, .dst_block = 2, .accept_token_bias = 2});
  EXPECT_EQ(copy.src_byte_offset, 192);
  EXPECT_EQ(copy.row_bytes, 8);
}

TEST(StateCopy, OnlyTemporalStatesComeFromTheBiasedColumn) {
  const StateLayout layout = layout_of(one_layer(ConvStateLayout::SD));
  const StateCopyOp op{.conv_src_block = 4, .temporal_src_block = 6, .dst_block = 3};
  EXPECT_EQ(make_copy_of_state(0, layout.geometry(0), op).copy.src_byte_offset, 4 * 64);
  EXPECT_EQ(make_copy_of_state(1, layout.geometry(1), op).copy.src_byte_offset, 6 * 64);
}

TEST(StateCopy, ABiasOfTheWholeWindowLeavesNothing) {
  const StateLayout layout = layout_of(one_layer(ConvStateLayout::SD));
  EXPECT_EQ(make_state_copy(0, layout.geometry(0), {.accept_token_bias = 6}).row_bytes, 0);
}

// Known bug 42c.
TEST(StateCopy, OffsetsAreSixtyFourBit) {
  const StateGeometry state{.block_stride = 20'000'000, .inner_size = 8, .elem_size = 2};
  EXPECT_EQ(make_state_copy(0, state, {.src_block = 1000}).src_byte_offset, 20'000'000'000);
}

TEST(StateLayout, AnUnknownCopyFunctionIsRefused) {
  MambaStateTensors tensors = one_layer(ConvStateLayout::SD);
  tensors.state_kinds[0] = std::nullopt;
  const std::int64_t strides[] = {6};
  EXPECT_FALSE(make_state_layout(tensors, strides).ok());
}

TEST(StateLayout, AConvStateWithTwoDimensionsIsRefused) {
  MambaStateTensors tensors = one_layer(ConvStateLayout::SD);
  tensors.layers[0].states[0] = {{8, 15}, {32, 1}, 2};
  const std::int64_t strides[] = {6};
  const auto layout = make_state_layout(tensors, strides);
  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.error().message, "layer 0, state 0: a conv state has 3 dimensions, this one 2");
}

TEST(StateLayout, OneTableForEachMambaGroupWithOneStrideIsNeeded) {
  const MambaStateTensors tensors = one_layer(ConvStateLayout::SD);
  const std::int64_t two[] = {6, 6};
  EXPECT_FALSE(make_state_layout(tensors, two).ok());
  EXPECT_FALSE(make_state_layout(tensors, {}).ok());
}

}  // namespace
}  // namespace hybridscope::state_copy_test
