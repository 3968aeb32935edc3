#include "kernels/step_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::row_runs_test {
namespace {

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
}  // namespace hybridscope::row_runs_test
