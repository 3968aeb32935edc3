#include "kernels/row_meetings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hybridscope::row_meetings_test {
namespace {

using testing::ElementsAre;

using Ints = std::vector<std::int32_t>;

constexpr std::int32_t kBlocks = 10;

// Decode rows of one token each, whose state is in column 0.
RowRanges ranges_of(const Ints& blocks) {
  const auto rows = static_cast<std::int32_t>(blocks.size());
  return RowMeetings(kBlocks).ranges(
      DecodeRows{.state_indices = matrix_view(blocks.data(), rows, 1)});
}

TEST(RowMeetings, RowsWithBlocksOfTheirOwnRunTogether) {
  EXPECT_THAT(ranges_of({4, 2, 7}), ElementsAre(3));
}

TEST(RowMeetings, NullAndPaddedBlocksDoNotMeet) {
  EXPECT_THAT(ranges_of({0, 2, 0, -1, -1}), ElementsAre(5));
}

// Row 2 has row 0's block, row 3 that of row 1: rows 2 and 3 run together.
TEST(RowMeetings, ARowWaitsForTheOneWhoseBlockItHas) {
  EXPECT_THAT(ranges_of({4, 2, 4, 2}), ElementsAre(2, 4));
}

TEST(RowMeetings, RowsOfOneBlockRunOneAfterTheOther) {
  EXPECT_THAT(ranges_of({3, 3, 3}), ElementsAre(1, 2, 3));
}

// Row 0 writes blocks 1 and 2 after its two tokens; row 1 continues block 2.
TEST(RowMeetings, AColumnOfAnEarlierTokenMeetsToo) {
  const Ints table = {1, 2, 2, 5};
  const Ints starts = {0, 2, 3};
  const Ints accepted = {1, 1};
  EXPECT_THAT(
      RowMeetings(kBlocks).ranges(DecodeRows{.state_indices = matrix_view(table.data(), 2, 2),
                                             .query_start_loc = starts,
                                             .num_accepted_tokens = accepted}),
      ElementsAre(1, 2));
}

// Both prompt rows begin with the state of a shared prefix in block 3.
TEST(RowMeetings, ReadersOfOneBlockRunTogether) {
  const Ints table = {3, 5, 3, 6};
  const Ints starts = {0, 4, 8};
  const std::vector<std::uint8_t> has_state = {1, 1};
  const Ints first = {1, 1};
  const Ints computed = {4, 4};
  const Ints last_computed = {0, 0};
  PrefillRows rows{.query_start_loc = starts,
                   .has_initial_states = has_state,
                   .state_indices = matrix_view(table.data(), 2, 2),
                   .block_idx_first_scheduled_token = first,
                   .block_idx_last_scheduled_token = first,
                   .block_idx_last_computed_token = last_computed,
                   .num_computed_tokens = computed,
                   .mamba_block_size = 4};
  RowMeetings meetings(kBlocks);
  EXPECT_THAT(meetings.ranges(rows), ElementsAre(2));
  const Ints written = {3, 3, 3, 6};  // row 0 writes what row 1 reads
  rows.state_indices = matrix_view(written.data(), 2, 2);
  EXPECT_THAT(meetings.ranges(rows), ElementsAre(1, 2));
}

// Positions 4 to 6 of row 0 and 5 of row 1 are in blocks of four tokens.
TEST(RowMeetings, AttentionRowsThatWriteOneBlockMeet) {
  const Ints table = {1, 2, 1, 3};
  const Ints starts = {0, 3, 4};
  const Ints lengths = {7, 6};
  RowMeetings meetings(kBlocks);
  AttentionRows rows{.query_start_loc = starts,
                     .seq_lens = lengths,
                     .block_table = matrix_view(table.data(), 2, 2)};
  EXPECT_THAT(meetings.ranges(rows, 4), ElementsAre(2));
  const Ints shared = {1, 2, 1, 2};
  rows.block_table = matrix_view(shared.data(), 2, 2);
  EXPECT_THAT(meetings.ranges(rows, 4), ElementsAre(1, 2));
}

TEST(RowMeetings, RowsBetweenKeepTheTokensOfTheBatch) {
  const Ints table = {1, 2, 3, 4, 5, 6};
  const Ints starts = {0, 2, 3, 5};
  const Ints accepted = {2, 1, 2};
  const DecodeRows cut = rows_between(DecodeRows{.state_indices = matrix_view(table.data(), 3, 2),
                                                 .query_start_loc = starts,
                                                 .num_accepted_tokens = accepted},
                                      1, 3);
  EXPECT_EQ(cut.num_rows(), 2);
  EXPECT_EQ(cut.tokens(1).first, 3);
  EXPECT_EQ(cut.source(1, cut.offset(1)), 6);
}

}  // namespace
}  // namespace hybridscope::row_meetings_test
