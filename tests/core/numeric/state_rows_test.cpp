#include "core/numeric/state_rows.h"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace hybridscope::state_rows_test
