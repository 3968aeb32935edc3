#include "core/check/symbolic_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/check.h"

namespace hybridscope::symbolic_state_test {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(SymbolicState, NothingIsWrittenAtFirst) {
  SymbolicState state(4, 5);
  EXPECT_EQ(state.num_blocks(), 4);
  EXPECT_EQ(state.conv_state_len(), 5);
  EXPECT_EQ(state.temporal(3).fingerprint, kPoison);
  EXPECT_EQ(state.temporal(3).event.kind, WriteKind::never);
  EXPECT_EQ(state.attention(3).filled, 0);
  EXPECT_EQ(state.conv(3).size(), 5u);
  EXPECT_THAT(state.conv(3), Each(kPoison));
}

TEST(SymbolicState, ConvWindowsOfBlocksDoNotOverlap) {
  SymbolicState state(3, 2);
  for (std::int32_t block = 0; block < 3; ++block)
    for (Fingerprint& position : state.conv(block)) position = static_cast<Fingerprint>(block) + 7;
  EXPECT_THAT(state.conv(0), ElementsAre(7, 7));
  EXPECT_THAT(state.conv(1), ElementsAre(8, 8));
  EXPECT_THAT(state.conv(2), ElementsAre(9, 9));
}

TEST(SymbolicState, PoisonForgetsEverythingOfOneBlock) {
  SymbolicState state(3, 2);
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
  SymbolicState state(3, 2);
  EXPECT_THROW(state.temporal(3), ContractViolation);
  EXPECT_THROW(state.conv(-1), ContractViolation);
}

}  // namespace
}  // namespace hybridscope::symbolic_state_test
