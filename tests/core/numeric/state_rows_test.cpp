// Which blocks rows read and write, with a state of one number that counts tokens: token t adds
// 10^t.
#include "core/numeric/state_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <vector>

#include "core/numeric/recurrences.h"

namespace hybridscope::state_rows_test {
namespace {

TEST(DecodeRows, WithoutStartsTokenRIsThatOfRowR) {
  const std::vector<std::int32_t> blocks{7, 9};
  const DecodeRows rows{.state_indices = matrix_view(blocks.data(), 2, 1)};
  EXPECT_EQ(rows.tokens(1).first, 1);
  EXPECT_EQ(rows.tokens(1).last, 2);
  EXPECT_EQ(rows.source(1, rows.offset(1)), 9);
  EXPECT_EQ(rows.destination(1, 0), 9);
}

// K = 2: three tokens were accepted, so the state after them is in column 2.
TEST(DecodeRows, TheStateIsReadFromTheColumnOfTheLastAcceptedToken) {
  const std::vector<std::int32_t> blocks{4, 5, 6};
  const std::vector<std::int32_t> starts{0, 3};
  const std::vector<std::int32_t> accepted{3};
  const DecodeRows rows{.state_indices = matrix_view(blocks.data(), 1, 3),
                        .query_start_loc = starts,
                        .num_accepted_tokens = accepted};
  EXPECT_EQ(rows.source(0, rows.offset(0)), 6);
  EXPECT_EQ(rows.destination(0, 0), 4);
  EXPECT_EQ(rows.destination(0, 2), 6);
}

TEST(DecodeRows, AnAcceptedCountOf0IsReadAs1) {
  const std::vector<std::int32_t> blocks{4, 5};
  const std::vector<std::int32_t> accepted{0};
  const DecodeRows rows{.state_indices = matrix_view(blocks.data(), 1, 2),
                        .num_accepted_tokens = accepted};
  EXPECT_EQ(rows.offset(0), 0);
}

// Mode all with drafts: both columns count from their base.
TEST(DecodeRows, ModeAllCountsFromItsBaseColumns) {
  const std::vector<std::int32_t> blocks{1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> accepted{2};
  const std::vector<std::int32_t> source{1};
  const std::vector<std::int32_t> destination{3};
  const DecodeRows rows{.state_indices = matrix_view(blocks.data(), 1, 6),
                        .num_accepted_tokens = accepted,
                        .source_column = source,
                        .destination_column = destination};
  EXPECT_EQ(rows.source(0, rows.offset(0)), 3);
  EXPECT_EQ(rows.destination(0, 1), 5);
}

// 10 computed tokens, blocks of 8, 17 tokens more: token 16 and 24 end blocks, 27 is the last.
TEST(PrefillRows, ModeAllStoresTheStateAtEveryBoundaryInsideTheRow) {
  const std::vector<std::int32_t> blocks{11, 12, 13, 14};
  const std::vector<std::int32_t> starts{0, 17};
  const std::vector<std::uint8_t> has_initial{1};
  const std::vector<std::int32_t> first{1}, last{3}, computed_column{1}, computed{10};
  const PrefillRows rows{.query_start_loc = starts,
                         .has_initial_states = has_initial,
                         .state_indices = matrix_view(blocks.data(), 1, 4),
                         .block_idx_first_scheduled_token = first,
                         .block_idx_last_scheduled_token = last,
                         .block_idx_last_computed_token = computed_column,
                         .num_computed_tokens = computed,
                         .mamba_block_size = 8};
  EXPECT_EQ(rows.source(0), 12);
  EXPECT_EQ(rows.destination(0), 14);
  const std::vector<BoundaryState> found = boundary_states(rows, 0);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].num_tokens, 6);
  EXPECT_EQ(found[0].block, 12);
  EXPECT_EQ(found[1].num_tokens, 14);
  EXPECT_EQ(found[1].block, 13);
}

TEST(PrefillRows, OtherModesHaveOneBlockAndNoBoundaries) {
  const std::vector<std::int32_t> blocks{11};
  const std::vector<std::int32_t> starts{0, 17};
  const std::vector<std::uint8_t> has_initial{1};
  const PrefillRows rows{.query_start_loc = starts,
                         .has_initial_states = has_initial,
                         .state_indices = vector_view(blocks.data(), 1)};
  EXPECT_EQ(rows.source(0), 11);
  EXPECT_EQ(rows.destination(0), 11);
  EXPECT_TRUE(boundary_states(rows, 0).empty());
}

using testing::ElementsAre;

class Pool {
 public:
  explicit Pool(std::vector<float> blocks) : blocks_(std::move(blocks)) {}
  StatePool view() { return {blocks_, 1}; }
  const std::vector<float>& blocks() const { return blocks_; }

 private:
  std::vector<float> blocks_;
};

const float kNaN = std::numeric_limits<float>::quiet_NaN();

void add_token(std::span<float> state, std::int32_t token) {
  state[0] += std::pow(10.0F, static_cast<float>(token));
}

TEST(DecodeRecurrence, EveryQueryTokenLeavesItsStateInItsColumn) {
  Pool pool({kNaN, 5, 0, 0});
  const std::vector<std::int32_t> blocks{1, 2, 3};
  const std::vector<std::int32_t> starts{0, 3};
  const std::vector<std::int32_t> accepted{1};
  run_decode_rows({.state_indices = matrix_view(blocks.data(), 1, 3),
                   .query_start_loc = starts,
                   .num_accepted_tokens = accepted},
                  pool.view(), add_token);
  EXPECT_EQ(pool.blocks()[1], 6);
  EXPECT_EQ(pool.blocks()[2], 16);
  EXPECT_EQ(pool.blocks()[3], 116);
}

TEST(DecodeRecurrence, ARowWhoseSourceIsNoBlockIsSkippedWhole) {
  for (const std::int32_t source : {0, -1}) {
    Pool pool({7, 8});
    const std::vector<std::int32_t> blocks{source, 1};
    const std::vector<std::int32_t> starts{0, 2};
    const std::vector<std::int32_t> accepted{1};
    int steps = 0;
    run_decode_rows({.state_indices = matrix_view(blocks.data(), 1, 2),
                     .query_start_loc = starts,
                     .num_accepted_tokens = accepted},
                    pool.view(), [&](std::span<float>, std::int32_t) { ++steps; });
    EXPECT_EQ(steps, 0);
    EXPECT_THAT(pool.blocks(), ElementsAre(7, 8));
  }
}

TEST(DecodeRecurrence, AWriteToNoBlockIsDroppedAndTheRecurrenceGoesOn) {
  Pool pool({7, 5, 0});
  const std::vector<std::int32_t> blocks{1, 0, 2};
  const std::vector<std::int32_t> starts{0, 3};
  const std::vector<std::int32_t> accepted{1};
  run_decode_rows({.state_indices = matrix_view(blocks.data(), 1, 3),
                   .query_start_loc = starts,
                   .num_accepted_tokens = accepted},
                  pool.view(), add_token);
  EXPECT_THAT(pool.blocks(), ElementsAre(7, 6, 116));
}

PrefillRows prefill_of(const std::vector<std::int32_t>& starts,
                       const std::vector<std::uint8_t>& has_initial,
                       const std::vector<std::int32_t>& blocks) {
  return {.query_start_loc = starts,
          .has_initial_states = has_initial,
          .state_indices = vector_view(blocks.data(), static_cast<std::int32_t>(blocks.size()))};
}

// Multiplying it by zero would not do: NaN stays NaN.
TEST(PrefillRecurrence, WithoutInitialStateTheBlockIsNotRead) {
  Pool pool({kNaN, kNaN});
  run_prefill_rows(prefill_of({0, 2}, {0}, {1}), pool.view(), true, add_token);
  EXPECT_EQ(pool.blocks()[1], 11);
}

TEST(PrefillRecurrence, WithInitialStateItGoesOnFromTheBlock) {
  Pool pool({kNaN, 100});
  run_prefill_rows(prefill_of({0, 2}, {1}, {1}), pool.view(), true, add_token);
  EXPECT_EQ(pool.blocks()[1], 111);
}

TEST(PrefillRecurrence, NoRowReadsAStateThatIsNotPrepared) {
  Pool pool({kNaN, 100});
  run_prefill_rows(prefill_of({0, 2}, {1}, {1}), pool.view(), false, add_token);
  EXPECT_EQ(pool.blocks()[1], 11);
}

TEST(PrefillRecurrence, ARowWithoutTokensWritesItsInitialStateBackOrZeros) {
  Pool pool({7, 100, 200});
  run_prefill_rows(prefill_of({0, 0, 0}, {1, 0}, {1, 2}), pool.view(), true, add_token);
  EXPECT_THAT(pool.blocks(), ElementsAre(7, 100, 0));
  run_prefill_rows(prefill_of({0, 0}, {0}, {0}), pool.view(), true, add_token);
  EXPECT_EQ(pool.blocks()[0], 7);  // the null block is never written
}

TEST(PrefillRecurrence, ModeAllKeepsTheStateAtBlockBoundaries) {
  Pool pool({kNaN, 0, 0});
  const std::vector<std::int32_t> starts{0, 3}, blocks{1, 2}, first{0}, last{1}, source{0},
      computed{0};
  const std::vector<std::uint8_t> has_initial{0};
  run_prefill_rows({.query_start_loc = starts,
                    .has_initial_states = has_initial,
                    .state_indices = matrix_view(blocks.data(), 1, 2),
                    .block_idx_first_scheduled_token = first,
                    .block_idx_last_scheduled_token = last,
                    .block_idx_last_computed_token = source,
                    .num_computed_tokens = computed,
                    .mamba_block_size = 2},
                   pool.view(), true, add_token);
  EXPECT_EQ(pool.blocks()[1], 11);
  EXPECT_EQ(pool.blocks()[2], 111);
}

// H = P = N = G = 1. softplus(20.5) = 20.5, and A = -exp(-200) = -0: the state does not decay.
TEST(Mamba2, AddsInputTimesDtAndReadsTheStateThroughC) {
  Pool pool({kNaN, 4});
  const std::vector<float> A_log{-200}, D{0.5F}, dt_bias{0}, x{2}, dt{20.5F}, B{0.25F}, C{3};
  std::vector<float> y(1);
  const std::vector<std::int32_t> blocks{1};
  mamba2_update({.num_heads = 1,
                 .head_dim = 1,
                 .state_size = 1,
                 .num_groups = 1,
                 .A_log = A_log,
                 .D = D,
                 .dt_bias = dt_bias},
                {.state_indices = matrix_view(blocks.data(), 1, 1)}, pool.view(), {x, dt, B, C, y});
  EXPECT_EQ(pool.blocks()[1], 14.25F);  // 4 + 0.25 * 20.5 * 2
  EXPECT_EQ(y[0], 43.75F);              // 14.25 * 3 + 2 * 0.5
}

// Keys and queries are normalised, so that k = q = 1 but for the epsilon; beta = sigma(200) = 1.
TEST(DeltaRule, ReplacesWhatTheKeyHadByTheValue) {
  for (const DecayOf decay_of : {DecayOf::head, DecayOf::key_channel}) {
    Pool pool({kNaN, 4});
    const std::vector<float> A_log{-200}, dt_bias{0}, q{5}, k{3}, v{7}, a{0}, b{200};
    std::vector<float> o(1);
    const std::vector<std::int32_t> blocks{1};
    delta_rule_update({.num_key_heads = 1,
                       .num_value_heads = 1,
                       .key_dim = 1,
                       .value_dim = 1,
                       .decay_of = decay_of,
                       .A_log = A_log,
                       .dt_bias = dt_bias},
                      {.state_indices = matrix_view(blocks.data(), 1, 1)}, pool.view(),
                      {q, k, v, a, b, o});
    EXPECT_NEAR(pool.blocks()[1], 7, 1e-5);
    EXPECT_NEAR(o[0], 7, 1e-5);
  }
}

}  // namespace

}  // namespace hybridscope::state_rows_test
