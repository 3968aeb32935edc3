#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/base/result.h"
#include "core/engine/batch_rows_v1.h"
#include "core/engine/block_table.h"
#include "core/engine/worker_policies.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::batch_rows_v1_test {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;
using enum RowRegion;

constexpr RequestId A{0}, B{1}, C{2}, D{3}, E{4};

// A batch of A, B, C, D in rows 0..3, each with one block of its own.
BatchRowsV1 four_rows(const Ids& counts) {
  BatchRowsV1 batch(8, Ids{4});
  for (const RequestId request : {A, B, C, D}) {
    const std::int32_t row = batch.add(request);
    batch.block_table(0).add_row(row, Ids{10 + request.value});
    batch.row(row).accepted.num_accepted_tokens = counts[static_cast<std::size_t>(row)];
  }
  return batch;
}

std::vector<RequestId> requests(const BatchRowsV1& batch) {
  std::vector<RequestId> result;
  for (const BatchRow& row : batch.rows()) result.push_back(row.request);
  return result;
}

Ids counts(const BatchRowsV1& batch) {
  Ids result;
  for (const BatchRow& row : batch.rows()) result.push_back(row.accepted.num_accepted_tokens);
  return result;
}

Ids previous_rows(const BatchRowsV1& batch) {
  Ids result;
  for (const BatchRow& row : batch.rows()) result.push_back(row.previous_row);
  return result;
}

// B finished, C gets no budget, E is new and a prefill (semantics: input-batch).
TEST(BatchRowsV1, CountsMoveWithTheirRows) {
  BatchRowsV1 batch = four_rows({2, 1, 3, 2});
  batch.start_step();
  batch.remove(C);
  batch.remove(B);
  EXPECT_EQ(batch.add(E), 1);
  batch.condense();
  EXPECT_THAT(requests(batch), ElementsAre(A, E, D));
  EXPECT_THAT(counts(batch), ElementsAre(2, 1, 2));
  batch.reorder(std::vector{decode, prefill, decode});
  EXPECT_THAT(requests(batch), ElementsAre(A, D, E));
  EXPECT_THAT(counts(batch), ElementsAre(2, 2, 1));
  EXPECT_THAT(previous_rows(batch), ElementsAre(0, 3, -1));
}

// The frame after: C comes back behind the others, its count was 3 (semantics: input-batch).
TEST(BatchRowsV1, AReturningRequestStartsAtOne) {
  BatchRowsV1 batch = four_rows({2, 1, 3, 2});
  batch.remove(C);
  batch.condense();
  batch.start_step();
  EXPECT_EQ(batch.add(C), 3);
  EXPECT_THAT(requests(batch), ElementsAre(A, B, D, C));
  EXPECT_THAT(counts(batch), ElementsAre(2, 1, 2, 1));
  EXPECT_EQ(batch.row_of(C), 3);
  EXPECT_EQ(batch.row(3).accepted.from, C);
}

// [P c=0 | D1 | D2 | T c<p] (semantics: reorder-batch).
TEST(BatchRowsV1, ReorderSwapsCycleByCycleAndIsNotStable) {
  BatchRowsV1 batch = four_rows({1, 2, 3, 4});
  batch.reorder(std::vector{prefill, decode, decode, short_extend});
  EXPECT_THAT(requests(batch), ElementsAre(C, B, D, A));
  EXPECT_THAT(counts(batch), ElementsAre(3, 2, 4, 1));
  EXPECT_THAT(batch.block_table(0).row(0), ElementsAre(12));
  EXPECT_THAT(batch.block_table(0).row(2), ElementsAre(13));
  EXPECT_EQ(batch.row_of(A), 3);
  EXPECT_EQ(batch.row_of(D), 2);
}

TEST(BatchRowsV1, RowsInTheirRegionsStayWhereTheyAre) {
  BatchRowsV1 batch = four_rows({1, 2, 3, 4});
  batch.reorder(std::vector{decode, short_extend, long_extend, prefill});
  EXPECT_THAT(requests(batch), ElementsAre(A, B, C, D));
}

TEST(BatchRowsV1, NewRowsTakeTheLowestHoleFirst) {
  BatchRowsV1 batch = four_rows({1, 1, 1, 1});
  batch.remove(D);
  batch.remove(A);
  EXPECT_EQ(batch.row_of(A), -1);
  EXPECT_EQ(batch.add(E), 0);
  EXPECT_EQ(batch.add(A), 3);
  batch.condense();
  EXPECT_THAT(requests(batch), ElementsAre(E, B, C, A));
}

TEST(BatchRowsV1, CondenseMovesTheLastRowsBlockIdsDown) {
  BatchRowsV1 batch = four_rows({1, 1, 1, 1});
  batch.remove(A);
  batch.remove(C);
  batch.condense();
  EXPECT_THAT(requests(batch), ElementsAre(D, B));
  EXPECT_THAT(batch.block_table(0).row(0), ElementsAre(13));
  EXPECT_EQ(batch.row_of(D), 0);
}

TEST(BatchRowsV1, RemovingEveryoneLeavesAnEmptyBatch) {
  BatchRowsV1 batch = four_rows({1, 1, 1, 1});
  for (const RequestId request : {B, D, A, C}) batch.remove(request);
  batch.condense();
  EXPECT_TRUE(batch.rows().empty());
  EXPECT_EQ(batch.add(C), 0);
}

TEST(BatchRowsV1, ARequestHasOneRow) {
  BatchRowsV1 batch = four_rows({1, 1, 1, 1});
  EXPECT_THROW(batch.add(B), ContractViolation);
  EXPECT_THROW(batch.remove(E), ContractViolation);
}

// Asynchronously the accepted counts of the frame before are copied to the host array while the
// next frame moves its rows (known bug 9; semantics: accepted-counts-v1).

// Two verify rows that accept everything; the first one ends and a prompt takes its row, so that
// the other one changes places with it: rows [D1, D2], then [P, D2] -> [D2, P].
std::vector<Finding> run(AcceptedCountLanding landing, std::int32_t num_speculative_tokens = 2,
                         double acceptance_rate = 1.0) {
  EngineConfig config =
      engine_config({.num_speculative_tokens = num_speculative_tokens, .max_num_seqs = 2});
  config.async_scheduling = true;
  config.acceptance_rate = acceptance_rate;
  config.policies.set(AcceptedCountOwner::persistent_row);
  config.policies.set(landing);
  CheckedEngine engine(config);
  engine.add(request_of(5, 4, 1));   // D1
  engine.add(request_of(5, 30, 2));  // D2
  engine.add(request_of(9, 1, 3));   // P
  engine.finish();
  return engine.findings();
}

TEST(AcceptedCountLanding, AfterTheRowsMovedEachCountIsGatheredFromItsOldRow) {
  EXPECT_TRUE(run(AcceptedCountLanding::after_row_moves).empty());
}

TEST(AcceptedCountLanding, BeforeTheRowsMoveTheCountsArePermutedTwice) {
  const std::vector<Finding> findings = run(AcceptedCountLanding::before_row_moves);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().rule, Rule::foreign_row_datum);
  EXPECT_EQ(findings.front().detail, "accepted count of another request");
  EXPECT_EQ(findings.front().request, RequestId{1});
}

// Without acceptance every count is 1, so that a count of another row is right too.
TEST(AcceptedCountLanding, CountsThatAreEqualDoNoHarm) {
  EXPECT_TRUE(run(AcceptedCountLanding::before_row_moves, 2, 0.0).empty());
}

TEST(AcceptedCountLanding, WithoutDraftsNothingIsCountedOrGathered) {
  EXPECT_TRUE(run(AcceptedCountLanding::before_row_moves, 0).empty());
}

// D ends and Q takes its row while P computes its prompt in chunks: rows [D, P], then [Q, P] ->
// [P, Q]. P sampled nothing in the frame before, so it has no count there and keeps its own 1.
TEST(AcceptedCountLanding, AChunkOfAPromptHasNoCountToGather) {
  EngineConfig config =
      engine_config({.block_size = 4, .num_speculative_tokens = 2, .max_num_seqs = 2});
  config.async_scheduling = true;
  config.acceptance_rate = 1.0;
  config.long_prefill_token_threshold = 4;
  config.policies.set(AcceptedCountOwner::persistent_row);
  config.policies.set(AcceptedCountLanding::before_row_moves);
  CheckedEngine engine(config);
  engine.add(request_of(5, 4, 1));   // D
  engine.add(request_of(60, 1, 2));  // P
  engine.add(request_of(9, 1, 3));   // Q
  engine.finish();
  EXPECT_TRUE(engine.findings().empty());
}

// The row over its whole width, stale entries included.
Ids whole_row(const BlockTable& table, std::int32_t row) {
  Ids ids;
  for (std::int32_t column = 0; column < table.num_columns(); ++column)
    ids.push_back(table.rows(row + 1).at(row, column));
  return ids;
}

TEST(BlockTable, AppendWritesBehindTheLastId) {
  BlockTable table(2, 5);
  table.append_row(1, Ids{4, 6});
  table.append_row(1, Ids{9});
  EXPECT_THAT(table.row(1), ElementsAre(4, 6, 9));
  EXPECT_THAT(whole_row(table, 1), ElementsAre(4, 6, 9, 0, 0));
  EXPECT_THAT(table.row(0), ElementsAre());
}

TEST(BlockTable, AppendBeyondTheWidthIsAContractViolation) {
  BlockTable table(1, 2);
  table.append_row(0, Ids{1, 2});
  EXPECT_THROW(table.append_row(0, Ids{3}), ContractViolation);
}

TEST(BlockTable, AddRowKeepsTheOlderTail) {
  BlockTable table(1, 4);
  table.append_row(0, Ids{1, 2, 3});
  table.add_row(0, Ids{8});
  EXPECT_THAT(table.row(0), ElementsAre(8));
  EXPECT_THAT(whole_row(table, 0), ElementsAre(8, 2, 3, 0));
}

TEST(BlockTable, ClearRowNullsTheIdsButNotAnOlderTail) {
  BlockTable table(1, 4);
  table.append_row(0, Ids{1, 2, 3});
  table.add_row(0, Ids{8, 9});
  table.clear_row(0);
  EXPECT_THAT(table.row(0), ElementsAre());
  EXPECT_THAT(whole_row(table, 0), ElementsAre(0, 0, 3, 0));
}

TEST(BlockTable, MoveRowKeepsItsSourceAndTheTargetsTail) {
  BlockTable table(2, 4);
  table.append_row(0, Ids{1, 2, 3});
  table.append_row(1, Ids{7, 8});
  table.move_row(1, 0);
  EXPECT_THAT(table.row(0), ElementsAre(7, 8));
  EXPECT_THAT(whole_row(table, 0), ElementsAre(7, 8, 3, 0));
  EXPECT_THAT(table.row(1), ElementsAre(7, 8));
}

TEST(BlockTable, SwapRowExchangesIdsTailsAndLengths) {
  BlockTable table(2, 3);
  table.append_row(0, Ids{1, 2, 3});
  table.add_row(0, Ids{4});
  table.append_row(1, Ids{7, 8});
  table.swap_row(0, 1);
  EXPECT_THAT(table.row(0), ElementsAre(7, 8));
  EXPECT_THAT(whole_row(table, 0), ElementsAre(7, 8, 0));
  EXPECT_THAT(table.row(1), ElementsAre(4));
  EXPECT_THAT(whole_row(table, 1), ElementsAre(4, 2, 3));
}

TEST(BlockTable, PaddingNullsWholeRowsAndLeavesLengths) {
  BlockTable table(3, 2);
  for (const std::int32_t row : {0, 1, 2}) table.append_row(row, Ids{row + 1, row + 1});
  table.null_rows(1, 3);
  table.null_rows(2, 2);
  EXPECT_THAT(whole_row(table, 0), ElementsAre(1, 1));
  EXPECT_THAT(whole_row(table, 1), ElementsAre(0, 0));
  EXPECT_THAT(whole_row(table, 2), ElementsAre(0, 0));
}

TEST(BlockTable, HasTheRowsThatWereWrittenOrNulled) {
  BlockTable table(4, 262144);
  EXPECT_EQ(table.num_rows(), 0);
  table.append_row(1, Ids{7});
  EXPECT_EQ(table.num_rows(), 2);
  EXPECT_EQ(table.mamba_view(0).num_blocks_per_row.size(), 2U);
  table.null_rows(2, 3);
  EXPECT_EQ(table.num_rows(), 3);
  EXPECT_THAT(table.row(3), ElementsAre());
  EXPECT_THROW(table.rows(4), ContractViolation);
  EXPECT_THROW(table.null_rows(4, 5), ContractViolation);
}

}  // namespace

}  // namespace hybridscope::test::batch_rows_v1_test
