#include "core/check/symbolic_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/check.h"

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

}  // namespace
}  // namespace hybridscope::symbolic_state_test
