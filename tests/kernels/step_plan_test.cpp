#include "kernels/step_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

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

}  // namespace

}  // namespace hybridscope::step_plan_test
