// What copies do to the floats of blocks.
#include "core/language/numeric_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/small_language_model.h"

namespace hybridscope::numeric_memory_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

KVCacheConfig two_groups() {
  KVCacheConfig config{.num_blocks = 6, .groups = {}};
  config.groups.push_back({.spec = FullAttentionSpec{.block_size = 4}, .layers = {0}});
  config.groups.push_back({.spec = MambaSpec{.block_size = 4}, .layers = {1, 2}});
  return config;
}

class LanguageMemory : public testing::Test {
 protected:
  std::span<float> conv(std::int32_t block) const { return memory_.layers()[1].conv.block(block); }
  std::span<float> temporal(std::int32_t block) const {
    return memory_.layers()[1].temporal.block(block);
  }

  HybridModel model_ = test::small_language_model();
  NumericMemory memory_ = NumericMemory::create(model_, two_groups(), {.num_drafts = 2}).value();
};

// GatedDeltaNet: W - 1 + K = 5 positions of 24 channels, a state of 2 * 4 * 4; short convolution:
// 4 positions of 16; attention: 4 slots of 8 for keys and for values.
TEST_F(LanguageMemory, BlocksHaveTheStatesOfTheirLayers) {
  EXPECT_EQ(memory_.layers()[1].conv.block_elements, 5 * 24);
  EXPECT_EQ(memory_.layers()[1].temporal.block_elements, 32);
  EXPECT_EQ(memory_.layers()[2].conv.block_elements, 4 * 16);
  EXPECT_EQ(memory_.layers()[2].temporal.block_elements, 0);
  EXPECT_EQ(memory_.layers()[0].kv.keys.size(), 6U * 4 * 8);
  EXPECT_EQ(make_language_layout(model_, two_groups(), {.num_drafts = 2}).value().bytes_per_block(),
            4 * (5 * 24 + 32 + 4 * 16 + 2 * 4 * 8));
}

// Positions 2.. of the source go to positions 0..; the last two of the destination stay.
TEST_F(LanguageMemory, ACopyShiftsTheConvWindow) {
  std::iota(conv(1).begin(), conv(1).end(), 0.0F);
  std::ranges::fill(conv(2), -1.0F);
  std::ranges::fill(temporal(3), 7.0F);
  const StateCopyOp copy{
      .conv_src_block = 1, .temporal_src_block = 3, .dst_block = 2, .accept_token_bias = 2};
  memory_.copy({&copy, 1});
  EXPECT_EQ(conv(2)[0], 48.0F);
  EXPECT_EQ(conv(2)[71], 119.0F);
  EXPECT_EQ(conv(2)[72], -1.0F);
  EXPECT_EQ(temporal(2)[31], 7.0F);
}

// Two copies of one launch that swap blocks.
TEST_F(LanguageMemory, EverySourceIsReadBeforeAnythingIsWritten) {
  std::ranges::fill(temporal(1), 1.0F);
  std::ranges::fill(temporal(2), 2.0F);
  const StateCopyOp copies[] = {{.conv_src_block = 1, .temporal_src_block = 1, .dst_block = 2},
                                {.conv_src_block = 2, .temporal_src_block = 2, .dst_block = 1}};
  memory_.copy(copies);
  EXPECT_EQ(temporal(1)[0], 2.0F);
  EXPECT_EQ(temporal(2)[0], 1.0F);
}

// Known bug 25: 3 of the 5 positions are there, and position 3 is the front of the state.
TEST_F(LanguageMemory, AWindowThatIsTooShortRunsOnIntoTheState) {
  const NumericMemory memory =
      NumericMemory::create(model_, two_groups(), {.num_drafts = 2, .missing = 2}).value();
  const LayerMemory& layer = memory.layers()[1];
  std::ranges::fill(layer.temporal.block(5), 7.0F);
  std::ranges::fill(layer.conv.block(5).subspan(3 * 24, 24), 1.0F);
  EXPECT_EQ(layer.temporal.block(5)[0], 1.0F);
  EXPECT_EQ(layer.temporal.block(5)[23], 1.0F);
  EXPECT_EQ(layer.temporal.block(5)[24], 7.0F);
  EXPECT_EQ(layer.temporal.block(4)[0], 0.0F);
}

TEST_F(LanguageMemory, ABlockOfANewOwnerHoldsNumbersThatShow) {
  memory_.poison(4);
  EXPECT_LT(temporal(4)[0], -1e18F);
  EXPECT_LT(memory_.layers()[0].kv.keys[4 * 4 * 8], -1e18F);
  EXPECT_EQ(temporal(3)[0], 0.0F);
  memory_.poison(0);  // the null block is never given out
  EXPECT_EQ(memory_.layers()[0].kv.keys[0], 0.0F);
}

// Another model's groups: attention layers go to attention groups, recurrent ones in turn.
TEST_F(LanguageMemory, LayersOfAnotherModelAreDealtOutInTurn) {
  KVCacheConfig config{.num_blocks = 6, .groups = {}};
  config.groups.push_back({.spec = MambaSpec{}, .layers = {0}});
  config.groups.push_back({.spec = FullAttentionSpec{}, .layers = {1}});
  config.groups.push_back({.spec = MambaSpec{}, .layers = {2, 3}});
  EXPECT_THAT(groups_of_layers(model_, config).value(), ElementsAre(1, 0, 2));
  config.groups.erase(config.groups.begin() + 1);
  EXPECT_THAT(groups_of_layers(model_, config).error().message,
              HasSubstr("layer 0 of the weights is attention"));
}

}  // namespace
}  // namespace hybridscope::numeric_memory_test
