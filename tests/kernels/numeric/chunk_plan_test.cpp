// Pieces of chunks, counted in host memory; no device is needed.
#include "kernels/numeric/chunk_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace hybridscope::chunk_plan_test {
namespace {

TEST(ChunkPlan, APieceHasAtMost64TokensOfOneChunk) {
  const std::vector<RowChunk> chunks = {{0, 0, 64}, {0, 64, 65}, {1, 65, 65 + 129}};
  const ChunkPlan plan = plan_chunks(chunks, 200);
  EXPECT_EQ(plan.num_pieces, 1 + 1 + 3);
  EXPECT_FALSE(plan.in_turn);
}

TEST(ChunkPlan, ChunksThatDoNotRunHaveNoPieces) {
  const std::vector<RowChunk> chunks = {
      {-1, 0, 10}, {0, 4, 4}, {0, -1, 5}, {0, 90, 101}, {0, 5, 9}};
  EXPECT_EQ(plan_chunks(chunks, 100).num_pieces, 1);
}

TEST(ChunkPlan, ChunksOfMamba2EndWithTheTokens) {
  const std::vector<std::int32_t> ends = {-3, 64, 64, 500};
  const std::vector<std::int32_t> rows = {0, 0, 1};
  const std::vector<std::int32_t> last = {1, 2};
  const ChunkPlan plan = plan_chunks(Mamba2Chunks{ends, rows, last, 64}, 100);
  EXPECT_EQ(plan.num_pieces, 1 + 0 + 1);
  EXPECT_FALSE(plan.in_turn);
}

TEST(ChunkPlan, ChunksThatOverlapOrGoBackToARowRunInTurn) {
  EXPECT_TRUE(plan_chunks(std::vector<RowChunk>{{0, 0, 8}, {0, 7, 9}}, 9).in_turn);
  EXPECT_TRUE(plan_chunks(std::vector<RowChunk>{{1, 0, 8}, {0, 8, 9}}, 9).in_turn);
  EXPECT_FALSE(plan_chunks(std::vector<RowChunk>{{0, 0, 8}, {2, 9, 10}}, 10).in_turn);
}

}  // namespace
}  // namespace hybridscope::chunk_plan_test
