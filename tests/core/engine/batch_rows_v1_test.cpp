#include "core/engine/batch_rows_v1.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/base/check.h"

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

}  // namespace
}  // namespace hybridscope::test::batch_rows_v1_test
