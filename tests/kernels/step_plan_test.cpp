#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "core/base/result.h"
#include "kernels/copy_list.h"
#include "kernels/row_meetings.h"
#include "kernels/step_plan.h"

namespace hybridscope::step_plan_test {
namespace {

StateCopyOp copy(std::int32_t src, std::int32_t dst) {
  return {.conv_src_block = src, .temporal_src_block = src, .dst_block = dst};
}

TEST(CopyConflicts, CopiesBetweenDifferentBlocksAreFree) {
  CopyConflicts conflicts(6);
  EXPECT_FALSE(conflicts.found_in(std::vector{copy(0, 1), copy(2, 3), copy(0, 4)}));
}

TEST(CopyConflicts, AShiftInItsOwnBlockIsFree) {
  CopyConflicts conflicts(6);
  EXPECT_FALSE(conflicts.found_in(std::vector{copy(1, 1), copy(2, 2)}));
}

TEST(CopyConflicts, ABlockThatTwoCopiesWriteIsAConflict) {
  CopyConflicts conflicts(6);
  EXPECT_TRUE(conflicts.found_in(std::vector{copy(0, 3), copy(1, 3)}));
}

TEST(CopyConflicts, ABlockThatALaterCopyWritesIsAConflict) {
  CopyConflicts conflicts(6);
  EXPECT_TRUE(conflicts.found_in(std::vector{copy(0, 1), copy(2, 0)}));
}

TEST(CopyConflicts, EitherSourceCounts) {
  CopyConflicts conflicts(6);
  const StateCopyOp conv{.conv_src_block = 5, .temporal_src_block = 0, .dst_block = 1};
  const StateCopyOp temporal{.conv_src_block = 0, .temporal_src_block = 5, .dst_block = 1};
  EXPECT_TRUE(conflicts.found_in(std::vector{copy(2, 5), conv}));
  EXPECT_TRUE(conflicts.found_in(std::vector{copy(2, 5), temporal}));
}

TEST(CopyConflicts, ASourceThatIsNoBlockConflictsWithNothing) {
  CopyConflicts conflicts(6);
  EXPECT_FALSE(conflicts.found_in(std::vector{copy(kPoisonSource, 0), copy(kPoisonSource, 1)}));
}

TEST(CopyConflicts, ALaunchIsForgottenAfterIt) {
  CopyConflicts conflicts(6);
  EXPECT_TRUE(conflicts.found_in(std::vector{copy(0, 1), copy(1, 2)}));
  EXPECT_FALSE(conflicts.found_in(std::vector{copy(1, 3)}));
}

using ::testing::ElementsAre;

// Rows that read and write one block each, both kinds of state.
StateOps rows(const std::vector<std::pair<std::int32_t, std::int32_t>>& sources_and_targets) {
  StateOps ops;
  for (const auto& [source, target] : sources_and_targets) {
    const auto first = static_cast<std::int32_t>(ops.writes.size());
    ops.writes.push_back({.kind = ForwardWriteKind::temporal, .block = target});
    ops.writes.push_back({.kind = ForwardWriteKind::conv_tail, .block = target});
    ops.add_row({.temporal_src_block = source,
                 .conv_src_block = source,
                 .first_write = first,
                 .num_writes = 2});
  }
  return ops;
}

std::vector<RowRun> split(const StateOps& ops) {
  RowRuns runs(8);
  return runs.split(ops, ops.batches.at(0));
}

TEST(RowRuns, RowsWithTheirOwnBlocksRunTogether) {
  EXPECT_THAT(split(rows({{1, 1}, {2, 2}, {3, 4}})), ElementsAre(RowRun{0, 3}));
}

TEST(RowRuns, RowsThatOnlyReadTheSameBlockRunTogether) {
  EXPECT_THAT(split(rows({{1, 2}, {1, 3}, {1, 4}})), ElementsAre(RowRun{0, 3}));
}

TEST(RowRuns, ARowThatReadsWhatAnEarlierOneWroteBeginsARun) {
  EXPECT_THAT(split(rows({{1, 2}, {3, 4}, {2, 5}})), ElementsAre(RowRun{0, 2}, RowRun{2, 1}));
}

TEST(RowRuns, ARowThatWritesWhatAnEarlierOneWroteBeginsARun) {
  EXPECT_THAT(split(rows({{1, 2}, {3, 2}})), ElementsAre(RowRun{0, 1}, RowRun{1, 1}));
}

TEST(RowRuns, ARowThatWritesWhatAnEarlierOneReadBeginsARun) {
  EXPECT_THAT(split(rows({{1, 2}, {3, 1}})), ElementsAre(RowRun{0, 1}, RowRun{1, 1}));
}

TEST(RowRuns, ANewRunForgetsTheBlocksOfTheOneBefore) {
  EXPECT_THAT(split(rows({{1, 2}, {2, 3}, {1, 4}, {1, 1}})),
              ElementsAre(RowRun{0, 1}, RowRun{1, 2}, RowRun{3, 1}));
}

TEST(RowRuns, ARowMayReadAndWriteItsOwnBlockMoreThanOnce) {
  EXPECT_THAT(split(rows({{1, 1}})), ElementsAre(RowRun{0, 1}));
}

TEST(RowRuns, SourcesThatAreNoBlockAreNoticedByNobody) {
  EXPECT_THAT(split(rows({{kNoSource, 1}, {kPoisonSource, 2}, {kNoSource, 3}})),
              ElementsAre(RowRun{0, 3}));
}

TEST(RowRuns, ABatchBehindOthersIsCutOnItsOwn) {
  StateOps ops = rows({{1, 2}});
  ops.add_poison(5);
  ops.add_row({.temporal_src_block = 2, .first_write = 0, .num_writes = 2});
  RowRuns runs(8);
  EXPECT_THAT(runs.split(ops, ops.batches.at(0)), ElementsAre(RowRun{0, 1}));
  EXPECT_THAT(runs.split(ops, ops.batches.at(2)), ElementsAre(RowRun{1, 1}));
}

class CopiesMeet : public ::testing::Test {
 protected:
  ListedCopy copy(std::int64_t from, std::int64_t to, std::int64_t bytes) {
    return {.from = memory_.data() + from, .to = memory_.data() + to, .row_bytes = bytes};
  }
  std::array<std::byte, 256> memory_{};
};

TEST_F(CopiesMeet, RegionsSideBySideDoNot) {
  EXPECT_FALSE(copies_meet(std::vector{copy(0, 8, 8), copy(16, 24, 8), copy(32, 40, 8)}));
}

TEST_F(CopiesMeet, TwoThatReadTheSameBytesDoNot) {
  EXPECT_FALSE(copies_meet(std::vector{copy(0, 8, 8), copy(0, 16, 8)}));
}

TEST_F(CopiesMeet, OneThatMeetsItselfDoesNot) {
  EXPECT_FALSE(copies_meet(std::vector{copy(0, 2, 8), copy(16, 24, 8)}));
}

TEST_F(CopiesMeet, TwoThatWriteTheSameByteDo) {
  EXPECT_TRUE(copies_meet(std::vector{copy(0, 100, 8), copy(50, 107, 8)}));
}

TEST_F(CopiesMeet, OneThatReadsWhatAnotherWritesDoes) {
  EXPECT_TRUE(copies_meet(std::vector{copy(0, 100, 8), copy(100, 200, 8)}));
  EXPECT_TRUE(copies_meet(std::vector{copy(100, 200, 8), copy(0, 100, 8)}));
}

TEST_F(CopiesMeet, RowsCountFromTheFirstByteToTheLast) {
  ListedCopy rows = copy(0, 100, 4);
  rows.num_rows = 3;
  rows.row_stride_bytes = 10;
  EXPECT_TRUE(copies_meet(std::vector{rows, copy(200, 120, 4)}));
  EXPECT_FALSE(copies_meet(std::vector{rows, copy(200, 124, 4)}));
}

// Against all pairs, a region that many others lie in among them.
TEST_F(CopiesMeet, AgreesWithLookingAtEveryPair) {
  constexpr std::uint32_t kSeed = 20263;
  std::mt19937 random(kSeed);
  const auto draw = [&random](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const auto overlap = [](const std::byte* a, std::int64_t a_bytes, const std::byte* b,
                          std::int64_t b_bytes) { return a < b + b_bytes && b < a + a_bytes; };
  int meeting = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<ListedCopy> copies;
    for (int i = draw(2, 5); i > 0; --i)
      copies.push_back(
          copy(draw(0, 200), draw(0, 200), draw(1, 4) == 4 ? draw(1, 56) : draw(1, 8)));
    bool expected = false;
    for (std::size_t i = 0; i < copies.size(); ++i)
      for (std::size_t j = 0; j < copies.size(); ++j) {
        if (i == j) continue;
        const ListedCopy& writer = copies[i];
        const ListedCopy& other = copies[j];
        expected = expected || overlap(writer.to, writer.row_bytes, other.to, other.row_bytes) ||
                   overlap(writer.to, writer.row_bytes, other.from, other.row_bytes);
      }
    meeting += expected ? 1 : 0;
    ASSERT_EQ(copies_meet(copies), expected) << "seed " << kSeed << ", round " << round;
  }
  EXPECT_GT(meeting, 400);
  EXPECT_LT(meeting, 3600);
}

TEST(ListCopies, PutsTheAddressesInAndLeavesOutCopiesOfNothing) {
  std::array<std::byte, 64> memory{};
  const std::array<std::byte*, 2> bases{memory.data(), memory.data() + 32};
  const std::vector<StateCopy> copies{
      {.state_index = 0, .row_bytes = 0},
      {.state_index = 1, .src_byte_offset = 4, .dst_byte_offset = 8, .row_bytes = 2}};
  const std::vector<ListedCopy> list = list_copies(copies, bases);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].from, memory.data() + 36);
  EXPECT_EQ(list[0].to, memory.data() + 40);
  EXPECT_EQ(list[0].row_bytes, 2);
}

TEST(ListCopies, AStateThatIsNotThereIsOurBug) {
  const std::array<std::byte*, 1> bases{nullptr};
  const std::vector<StateCopy> copies{{.state_index = 1, .row_bytes = 2}};
  EXPECT_THROW(list_copies(copies, bases), ContractViolation);
}

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

}  // namespace hybridscope::step_plan_test
