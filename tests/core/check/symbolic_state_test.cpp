#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/result.h"
#include "core/check/state_mirror.h"
#include "core/check/symbolic_state.h"

namespace hybridscope::symbolic_state_test {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(SymbolicState, NothingIsWrittenAtFirst) {
  SymbolicState state({.num_blocks = 4, .conv_state_len = 5});
  EXPECT_EQ(state.num_blocks(), 4);
  EXPECT_EQ(state.conv_state_len(), 5);
  EXPECT_EQ(state.temporal(3).fingerprint, kPoison);
  EXPECT_EQ(state.temporal(3).event.kind, WriteKind::never);
  EXPECT_EQ(state.attention(3).filled, 0);
  EXPECT_EQ(state.conv(3).size(), 5u);
  EXPECT_THAT(state.conv(3), Each(kPoison));
}

TEST(SymbolicState, ConvWindowsOfBlocksDoNotOverlap) {
  SymbolicState state({.num_blocks = 3, .conv_state_len = 2});
  for (std::int32_t block = 0; block < 3; ++block)
    for (Fingerprint& position : state.conv(block)) position = static_cast<Fingerprint>(block) + 7;
  EXPECT_THAT(state.conv(0), ElementsAre(7, 7));
  EXPECT_THAT(state.conv(1), ElementsAre(8, 8));
  EXPECT_THAT(state.conv(2), ElementsAre(9, 9));
}

TEST(SymbolicState, PoisonForgetsEverythingOfOneBlock) {
  SymbolicState state({.num_blocks = 3, .conv_state_len = 2});
  const WriteEvent event{WriteKind::decode, 4, 1, {2}, 9};
  for (const std::int32_t block : {1, 2}) {
    state.temporal(block) = {11, event};
    state.attention(block) = {8, 12, event};
    state.conv(block)[1] = 13;
    state.conv_event(block) = event;
  }
  state.poison(1);
  EXPECT_EQ(state.temporal(1).fingerprint, kPoison);
  EXPECT_EQ(state.temporal(1).event, WriteEvent{});
  EXPECT_EQ(state.attention(1).filled, 0);
  EXPECT_EQ(state.conv_event(1), WriteEvent{});
  EXPECT_THAT(state.conv(1), Each(kPoison));
  EXPECT_EQ(state.temporal(2).fingerprint, 11u);
  EXPECT_EQ(state.attention(2).filled, 8);
  EXPECT_THAT(state.conv(2), ElementsAre(kPoison, 13));
  EXPECT_EQ(state.conv_event(2), event);
}

TEST(SymbolicState, BlocksOutsideThePoolAreAnErrorOfTheCaller) {
  SymbolicState state({.num_blocks = 3, .conv_state_len = 2});
  EXPECT_THROW(state.temporal(3), ContractViolation);
  EXPECT_THROW(state.conv(-1), ContractViolation);
}

// Blocks of 6 slots with hash blocks of 2: prefixes end at slots 2 and 4, and where it is filled
// to.
TEST(SymbolicState, AttentionKnowsThePrefixAtEveryHashBlock) {
  SymbolicState state(
      {.num_blocks = 3, .conv_state_len = 2, .hash_block_size = 2, .num_inner_hash_blocks = 2});
  const auto prefix_at = [](std::int32_t slot) { return static_cast<Fingerprint>(100 + slot); };
  state.write_attention(1, 0, 5, prefix_at);
  EXPECT_TRUE(state.attention_holds(1, 2, 101));
  EXPECT_TRUE(state.attention_holds(1, 4, 103));
  EXPECT_TRUE(state.attention_holds(1, 5, 104));
  EXPECT_FALSE(state.attention_holds(1, 4, 104));
  EXPECT_FALSE(state.attention_holds(1, 3, 102));  // no hash block ends there
  EXPECT_FALSE(state.attention_holds(1, 6, 105));  // not filled so far
  // Slots 3 and 4 are written again with other tokens.
  state.write_attention(1, 3, 5,
                        [](std::int32_t slot) { return static_cast<Fingerprint>(200 + slot); });
  EXPECT_TRUE(state.attention_holds(1, 2, 101));
  EXPECT_TRUE(state.attention_holds(1, 4, 203));
}

TEST(SymbolicState, ACopiedBlockHoldsTheSame) {
  SymbolicState state(
      {.num_blocks = 3, .conv_state_len = 2, .hash_block_size = 2, .num_inner_hash_blocks = 2});
  state.write_attention(1, 0, 5,
                        [](std::int32_t slot) { return static_cast<Fingerprint>(9 + slot); });
  state.temporal(1).fingerprint = 77;
  state.conv(1)[0] = 55;
  state.copy_block(1, 2);
  EXPECT_EQ(state.temporal(2).fingerprint, 77u);
  EXPECT_EQ(state.conv(2)[0], 55u);
  EXPECT_TRUE(state.attention_holds(2, 4, 12));
}

// Group 0 has 3 layers, group 1 has 1: what group 1 writes is only in the first layer as symbolic
// state says.

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

}  // namespace hybridscope::symbolic_state_test
