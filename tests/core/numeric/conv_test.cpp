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

// Known bug 58. Mode all, blocks of 4, a row of 10 tokens: it has pieces 0 and 1 of 8 tokens, and
// piece 1 stores boundary 0. Boundary 1 would need a piece 2.
TEST(ConvPrefill, ByPieceTheLastBoundaryIsNotStored) {
  std::vector<float> pool(4 * 3, -1);
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  std::vector<float> y(10);
  const std::vector<std::int32_t> starts{0, 10}, blocks{1, 2, 3}, first{0}, last{2}, computed{0};
  const std::vector<std::uint8_t> no_state{0};
  ConvLayer layer = layer_of(3);
  layer.stores_boundaries_by_piece = true;
  conv_prefill(layer,
               {.query_start_loc = starts,
                .has_initial_states = no_state,
                .state_indices = matrix_view(blocks.data(), 1, 3),
                .block_idx_first_scheduled_token = first,
                .block_idx_last_scheduled_token = last,
                .block_idx_last_computed_token = first,
                .num_computed_tokens = computed,
                .mamba_block_size = 4},
               {pool, 3}, {x, y});
  EXPECT_THAT(pool, ElementsAre(-1, -1, -1, 2, 3, 4, -1, -1, -1, 8, 9, 10));
}

// Row 1 has 3 computed tokens, so its boundary comes after 1 of its own. Of the window's other two,
// the last token of row 0 stands in front of it in the batch, and behind that one of a decode row.
TEST(ConvPrefill, ByPieceABoundaryNearTheRowsStartTakesTokensOfTheRowInFront) {
  std::vector<float> pool(5 * 3, -1);
  const std::vector<float> x{1, 11, 12, 13, 14, 15, 16, 17, 18, 19}, in_front{7};
  std::vector<float> y(10);
  const std::vector<std::int32_t> starts{0, 1, 10}, blocks{1, 0, 0, 2, 3, 4};
  const std::vector<std::int32_t> first{0, 0}, last{0, 2}, computed{0, 3};
  const std::vector<std::uint8_t> states{0, 1};
  ConvLayer layer = layer_of(3);
  layer.stores_boundaries_by_piece = true;
  conv_prefill(layer,
               {.query_start_loc = starts,
                .has_initial_states = states,
                .state_indices = matrix_view(blocks.data(), 2, 3),
                .block_idx_first_scheduled_token = first,
                .block_idx_last_scheduled_token = last,
                .block_idx_last_computed_token = first,
                .num_computed_tokens = computed,
                .mamba_block_size = 4},
               {pool, 3}, {.x = x, .y = y, .in_front = in_front});
  EXPECT_THAT(std::vector<float>(pool.begin() + 6, pool.begin() + 9), ElementsAre(7, 1, 11));
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
