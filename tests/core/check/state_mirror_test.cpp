// Group 0 has 3 layers, group 1 has 1: what group 1 writes is only in the first layer as symbolic
// state says.
#include "core/check/state_mirror.h"

#include <gtest/gtest.h>

namespace hybridscope::state_mirror_test {
namespace {

constexpr std::int32_t kWide = 0;
constexpr std::int32_t kNarrow = 1;

StateMemory memory() {
  const MambaSpec spec{.states = {{StateKind::conv, {3, 4}, Dtype::bfloat16},
                                  {StateKind::temporal, {2, 4}, Dtype::float32}},
                       .page_size_bytes = 64};
  return make_state_memory(
             {.num_blocks = 8,
              .groups = {{.spec = spec, .layers = {0, 1, 2}}, {.spec = spec, .layers = {3}}}},
             {})
      .value();
}

class ContentGroupsOfBlocks : public testing::Test {
 protected:
  std::int32_t temporal(std::int32_t block) const { return groups_.of(StateKind::temporal, block); }
  std::int32_t conv(std::int32_t block) const { return groups_.of(StateKind::conv, block); }
  void copy(const StateCopyOp& copy) {
    StateOps ops;
    ops.add_copy(copy);
    groups_.apply(ops);
  }
  // A row that starts from `source` and writes state and window of `block`.
  void row(std::int32_t group, std::int32_t source, std::int32_t block) {
    StateOps ops;
    ops.writes = {{ForwardWriteKind::temporal, block, 1}, {ForwardWriteKind::conv_tail, block, 1}};
    ops.add_row({.group_index = group,
                 .temporal_src_block = source,
                 .conv_src_block = source,
                 .num_tokens = 1,
                 .num_writes = 2});
    groups_.apply(ops);
  }
  void poison(std::int32_t block) {
    StateOps ops;
    ops.add_poison(block);
    groups_.apply(ops);
  }

  ContentGroups groups_{memory()};
};

TEST_F(ContentGroupsOfBlocks, CountTheirLayers) {
  EXPECT_EQ(groups_.num_layers(kWide), 3);
  EXPECT_EQ(groups_.num_layers(kNarrow), 1);
}

TEST_F(ContentGroupsOfBlocks, PoisonIsInEveryLayer) {
  EXPECT_EQ(temporal(5), kWide);
  row(kNarrow, kNoSource, 5);
  EXPECT_EQ(temporal(5), kNarrow);
  EXPECT_EQ(conv(5), kNarrow);
  poison(5);
  EXPECT_EQ(temporal(5), kWide);
  EXPECT_EQ(conv(5), kWide);
}

TEST_F(ContentGroupsOfBlocks, WhatIsReadLimitsWhatIsWritten) {
  row(kNarrow, kNoSource, 2);
  row(kWide, 2, 3);  // its other two layers read what group 1 does not have
  EXPECT_EQ(temporal(3), kNarrow);
  row(kWide, kNoSource, 4);
  EXPECT_EQ(temporal(4), kWide);
}

TEST_F(ContentGroupsOfBlocks, ARowLeavesPositionsBehindItsWindow) {
  row(kNarrow, kNoSource, 2);
  row(kWide, kNoSource, 2);
  EXPECT_EQ(temporal(2), kWide);
  EXPECT_EQ(conv(2), kNarrow);
}

TEST_F(ContentGroupsOfBlocks, ACopyIsAsWideAsItsSource) {
  row(kNarrow, kNoSource, 2);
  copy({.group_index = kWide, .conv_src_block = 2, .temporal_src_block = 1, .dst_block = 3});
  EXPECT_EQ(conv(3), kNarrow);
  EXPECT_EQ(temporal(3), kWide);
  copy({.group_index = kWide, .conv_src_block = 1, .temporal_src_block = 1, .dst_block = 3});
  EXPECT_EQ(conv(3), kWide);
}

TEST_F(ContentGroupsOfBlocks, AShiftLeavesTheLastPositions) {
  row(kNarrow, kNoSource, 3);
  copy({.group_index = kWide,
        .conv_src_block = 1,
        .temporal_src_block = kPoisonSource,
        .dst_block = 3,
        .accept_token_bias = 1});
  EXPECT_EQ(conv(3), kNarrow);
  EXPECT_EQ(temporal(3), kWide);
}

// Both sources are read before either block is written.
TEST_F(ContentGroupsOfBlocks, CopiesOfALaunchReadFirst) {
  row(kNarrow, kNoSource, 2);
  StateOps ops;
  ops.begin_launch();
  ops.add_copy(
      {.group_index = kWide, .conv_src_block = 2, .temporal_src_block = 2, .dst_block = 3});
  ops.add_copy(
      {.group_index = kWide, .conv_src_block = 3, .temporal_src_block = 3, .dst_block = 4});
  groups_.apply(ops);
  EXPECT_EQ(temporal(3), kNarrow);
  EXPECT_EQ(temporal(4), kWide);
}

}  // namespace

}  // namespace hybridscope::state_mirror_test
