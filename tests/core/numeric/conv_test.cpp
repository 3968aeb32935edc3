// A channel of width 4 whose weights are 1000, 100, 10, 1: the output spells the four tokens.
#include "core/numeric/conv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace hybridscope::conv_test {
namespace {

using testing::Each;
using testing::ElementsAre;

const std::vector<float> kWeight{1000, 100, 10, 1};

ConvLayer layer_of(std::int32_t state_len) {
  return {.dim = 1,
          .width = 4,
          .state_len = state_len,
          .weight = kWeight,
          .activation = ConvActivation::none};
}

// Block 1 holds the given positions; block 0 is the null block.
struct Case {
  std::vector<float> pool;
  std::int64_t positions;
  std::vector<float> y;

  explicit Case(const std::vector<float>& block)
      : pool(block.size(), -1), positions(static_cast<std::int64_t>(block.size())) {
    pool.insert(pool.end(), block.begin(), block.end());
  }
  StatePool view() { return {pool, positions}; }
  std::vector<float> block(std::size_t id) const {
    const auto first = pool.begin() + static_cast<std::ptrdiff_t>(id) * positions;
    return {first, first + positions};
  }
  void prefill(std::vector<float> x, bool has_initial) {
    y.assign(x.size(), -1);
    const std::vector<std::int32_t> starts{0, static_cast<std::int32_t>(x.size())}, blocks{1};
    const std::vector<std::uint8_t> flags{static_cast<std::uint8_t>(has_initial)};
    conv_prefill(layer_of(static_cast<std::int32_t>(positions)),
                 {.query_start_loc = starts,
                  .has_initial_states = flags,
                  .state_indices = vector_view(blocks.data(), 1)},
                 view(), {x, y});
  }
  // `accepted` 0: without counts.
  void update(std::vector<float> x, std::int32_t accepted, std::int32_t block = 1) {
    y.assign(x.size(), -1);
    const std::vector<std::int32_t> starts{0, static_cast<std::int32_t>(x.size())};
    const std::vector<std::int32_t> blocks(3, block), counts{accepted};
    DecodeRows rows{.state_indices = matrix_view(blocks.data(), 1, 3), .query_start_loc = starts};
    if (accepted > 0) rows.num_accepted_tokens = counts;
    conv_update(layer_of(static_cast<std::int32_t>(positions)), rows, view(), {x, y});
  }
};

TEST(ConvPrefill, ReadsTheThreeTokensBeforeTheRow) {
  Case conv({1, 2, 3});
  conv.prefill({4, 5}, true);
  EXPECT_THAT(conv.y, ElementsAre(1234, 2345));
  EXPECT_THAT(conv.block(1), ElementsAre(3, 4, 5));
}

TEST(ConvPrefill, WithoutInitialStateZerosComeFirst) {
  Case conv(std::vector<float>(3, std::numeric_limits<float>::quiet_NaN()));
  conv.prefill({4, 5}, false);
  EXPECT_THAT(conv.y, ElementsAre(4, 45));
  EXPECT_THAT(conv.block(1), ElementsAre(0, 4, 5));
}

TEST(ConvPrefill, PositionsForDraftsStay) {
  Case conv({1, 2, 3, 8, 9});
  conv.prefill({4}, true);
  EXPECT_THAT(conv.block(1), ElementsAre(2, 3, 4, 8, 9));
}

TEST(ConvPrefill, ARowWithoutTokensLeavesTheBlockAlone) {
  Case conv({1, 2, 3});
  conv.prefill({}, false);
  EXPECT_THAT(conv.block(1), ElementsAre(1, 2, 3));
}

TEST(ConvUpdate, WithoutCountsTheLastThreeTokensStay) {
  Case conv({1, 2, 3});
  conv.update({4}, 0);
  EXPECT_THAT(conv.y, ElementsAre(1234));
  EXPECT_THAT(conv.block(1), ElementsAre(2, 3, 4));
}

// Two of three tokens were accepted: the history begins one position further on.
TEST(ConvUpdate, WithCountsTheHistoryBeginsAtTheAcceptedTokens) {
  Case conv({1, 2, 3, 4, 5});
  conv.update({6, 7, 8}, 2);
  EXPECT_THAT(conv.y, ElementsAre(2346, 3467, 4678));
  EXPECT_THAT(conv.block(1), ElementsAre(3, 4, 6, 7, 8));
}

TEST(ConvUpdate, PositionsBehindTheRowsTokensStay) {
  Case conv({1, 2, 3, 4, 5});
  conv.update({6}, 1);
  EXPECT_THAT(conv.block(1), ElementsAre(2, 3, 6, 4, 5));
}

TEST(ConvUpdate, ARowOnTheNullBlockDoesNothing) {
  Case conv({1, 2, 3});
  conv.update({6}, 1, 0);
  EXPECT_THAT(conv.y, ElementsAre(-1));
  EXPECT_THAT(conv.block(0), Each(-1));
}

}  // namespace
}  // namespace hybridscope::conv_test
