// Worked examples of the gather, chunk and conv functions (semantics: mamba-get-block-table-tensor,
// compute-causal-conv1d-metadata, compute-chunk-metadata, prepare-chunk-indices,
// prepare-chunk-offsets).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/metadata/block_table_gather.h"
#include "core/metadata/causal_conv1d_metadata_builder.h"
#include "core/metadata/chunk_metadata.h"
#include "sessions/conformance/varlen_chunks.h"
#include "sessions/conformance/vector_table.h"
#include "tests/core/metadata/batch_support.h"

namespace hybridscope::metadata_functions_test {
namespace {

using test::values;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ints = std::vector<std::int32_t>;

struct GatherExample {
  MambaCacheMode mode = MambaCacheMode::align;
  Ints block_table{};
  Ints seq_lens{};
  std::int32_t columns = 4;
};

// block_size 4, one speculative block.
Result<Ints> gather(const GatherExample& example) {
  Ints storage(3 * example.seq_lens.size());
  const auto rows = static_cast<std::int32_t>(example.block_table.size()) / example.columns;
  const auto result = mamba_get_block_table_tensor(
      {.config = {.mamba_cache_mode = example.mode,
                  .block_size = ReciprocalDivider(4),
                  .num_speculative_blocks = 1},
       .block_table = matrix_view(example.block_table.data(), rows, example.columns),
       .seq_lens = example.seq_lens},
      storage);
  if (!result) return result.error();
  return values(result.value());
}

TEST(BlockTableGather, AlignTakesTheRunningColumnAndTheSpeculativeOnes) {
  EXPECT_THAT(gather({.block_table = {7, 8, 9, 0}, .seq_lens = {5}}).value(), ElementsAre(8, 9));
  EXPECT_THAT(gather({.block_table = {7, 8, 9, 0}, .seq_lens = {4}}).value(), ElementsAre(7, 8));
}

TEST(BlockTableGather, PaddingRowsStartAtColumnZero) {
  EXPECT_THAT(gather({.block_table = {7, 8, 9, 0}, .seq_lens = {0}}).value(), ElementsAre(7, 8));
}

TEST(BlockTableGather, OtherModesGiveTheTableItself) {
  const Ints table = {7, 8, 9, 0};
  EXPECT_EQ(gather({MambaCacheMode::all, table, {5}}).value(), table);
  EXPECT_EQ(gather({MambaCacheMode::none, table, {500}}).value(), table);
}

TEST(BlockTableGather, ColumnOutsideTheTableFailsTheWholeCall) {
  const Ints two_rows = {7, 8, 9, 0, 1, 2, 3, 4};
  EXPECT_TRUE(gather({.block_table = two_rows, .seq_lens = {5, 12}}).ok());
  EXPECT_FALSE(gather({.block_table = two_rows, .seq_lens = {5, 13}}).ok());
  EXPECT_FALSE(gather({.block_table = two_rows, .seq_lens = {5, 5, 5}}).ok());
}

TEST(BlockTableGather, EmptyBatchHasNoRows) {
  EXPECT_THAT(gather({.block_table = {}, .seq_lens = {}}).value(), IsEmpty());
}

TEST(ReciprocalDivider, EqualsDivisionAtTheEdges) {
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t divisor :
       {1, 2, 3, 5, 7, 16, 528, 560, 641, 65536, 65537, 1 << 30, (1 << 30) + 1, most - 1, most}) {
    const ReciprocalDivider by(divisor);
    for (const std::int32_t n : {0, 1, divisor - 1, divisor, most / divisor * divisor,
                                 most / divisor * divisor - 1, most - 1, most})
      ASSERT_EQ(by.divide(n), n / divisor) << n << " / " << divisor;
  }
}

TEST(ReciprocalDivider, RefusesZero) { EXPECT_THROW(ReciprocalDivider(0), ContractViolation); }

TEST(PrefixBlockIndices, ColumnsOfTheThreeTokens) {
  // 5 computed tokens end in column 1 of 4-token blocks; tokens 5..8 are scheduled: columns 1..2.
  EXPECT_EQ(compute_prefix_block_indices({.num_computed_tokens = 5, .seq_len = 9, .block_size = 4}),
            (PrefixBlockIndices{1, 1, 2}));
  EXPECT_EQ(compute_prefix_block_indices({.num_computed_tokens = 4, .seq_len = 5, .block_size = 4}),
            (PrefixBlockIndices{0, 1, 1}));
  EXPECT_EQ(compute_prefix_block_indices({.num_computed_tokens = 0, .seq_len = 0, .block_size = 4}),
            (PrefixBlockIndices{0, 0, 0}));
}

TEST(CausalConv1d, ProgramsOfEightTokens) {
  CausalConv1dMetadataBuilder builder;
  const CausalConv1dMetadata m = builder.compute(Ints{0, 9, 9, 17}).value();
  EXPECT_THAT(values(m.nums), ElementsAre(2, 0, 1));
  EXPECT_THAT(values(m.mlist()), ElementsAre(0, 0, 2));
  EXPECT_THAT(values(m.offsetlist()), ElementsAre(0, 1, 0));
  EXPECT_EQ(m.batch_ptr.rows, 2048);
}

TEST(CausalConv1d, NoRowsGiveArraysOfPadding) {
  CausalConv1dMetadataBuilder builder;
  const CausalConv1dMetadata m = builder.compute(Ints{0}).value();
  EXPECT_EQ(m.tot, 0);
  EXPECT_EQ(m.batch_ptr.rows, 2048);
  EXPECT_THAT(values(m.batch_ptr), Each(-1));
  EXPECT_THAT(values(m.token_chunk_offset_ptr), Each(-1));
}

TEST(CausalConv1d, ShorterBatchClearsWhatALongerOneLeft) {
  CausalConv1dMetadataBuilder builder;
  EXPECT_EQ(builder.compute(Ints{0, 8 * 1500}).value().batch_ptr.rows, 3000);
  const CausalConv1dMetadata m = builder.compute(Ints{0, 8}).value();
  EXPECT_EQ(m.batch_ptr.rows, 2048);
  EXPECT_EQ(m.batch_ptr.at(0), 0);
  EXPECT_THAT(values(vector_view(m.batch_ptr.data + 1, 2047)), Each(-1));
  EXPECT_THAT(values(vector_view(m.token_chunk_offset_ptr.data + 1, 2047)), Each(-1));
}

TEST(CausalConv1d, NegativeRowsAreAnError) {
  CausalConv1dMetadataBuilder builder;
  EXPECT_FALSE(builder.compute(Ints{0, 9, 1}).ok());
  EXPECT_FALSE(builder.compute(Ints{}).ok());
}

TEST(VarlenChunks, CutAtSequencesAndAtMultiplesOfThePackedPosition) {
  const auto chunks = compute_varlen_chunk_metadata(Ints{0, 5, 5, 17}, 8).value();
  EXPECT_THAT(chunks.cu_chunk_seqlens, ElementsAre(0, 5, 8, 16, 17));
  EXPECT_THAT(chunks.last_chunk_indices, ElementsAre(0, -1, 3));
  EXPECT_THAT(chunks.seq_idx_chunks, ElementsAre(0, 2, 2, 2));
}

TEST(VarlenChunks, BadOffsetsAreAnError) {
  EXPECT_FALSE(compute_varlen_chunk_metadata(Ints{1, 4}, 4).ok());
  EXPECT_FALSE(compute_varlen_chunk_metadata(Ints{0, 5, 3, 9}, 4).ok());
  EXPECT_FALSE(compute_varlen_chunk_metadata(Ints{}, 4).ok());
  EXPECT_FALSE(compute_varlen_chunk_metadata(Ints{0, 4}, 0).ok());
}

TEST(Mamba2Chunks, AlignToEachSequencesOwnPosition) {
  Mamba2ChunkMetadataBuilder builder;
  const auto chunks = builder
                          .compute({.chunk_size = 8,
                                    .num_computed_tokens_p = Ints{5, 0},
                                    .query_start_loc_p = Ints{0, 10, 13}})
                          .value();
  EXPECT_THAT(values(chunks.cu_chunk_seqlen_p), ElementsAre(0, 3, 10, 13));
  EXPECT_THAT(values(chunks.seq_idx_p), ElementsAre(0, 0, 1));
  EXPECT_THAT(values(chunks.last_chunk_indices_p), ElementsAre(1, 2));
}

TEST(Mamba2Chunks, RowWithoutChunksRepeatsTheLastIndex) {
  Mamba2ChunkMetadataBuilder builder;
  const auto chunks = builder
                          .compute({.chunk_size = 8,
                                    .num_computed_tokens_p = Ints{0, 0, 0},
                                    .query_start_loc_p = Ints{0, 0, 9, 9}})
                          .value();
  EXPECT_THAT(values(chunks.last_chunk_indices_p), ElementsAre(-1, 1, 1));
  EXPECT_THAT(values(chunks.cu_chunk_seqlen_p), ElementsAre(0, 8, 9));
}

TEST(Mamba2Chunks, UnalignedContextWithoutTokensGivesAnEmptyChunk) {
  Mamba2ChunkMetadataBuilder builder;
  const auto chunks =
      builder
          .compute(
              {.chunk_size = 8, .num_computed_tokens_p = Ints{5}, .query_start_loc_p = Ints{0, 0}})
          .value();
  EXPECT_THAT(values(chunks.cu_chunk_seqlen_p), ElementsAre(0, 0));
  EXPECT_THAT(values(chunks.seq_idx_p), ElementsAre(0));
  EXPECT_THAT(values(chunks.last_chunk_indices_p), ElementsAre(0));
}

TEST(FlaChunks, EmptySequencesAreNotNumbered) {
  FlaChunkBuilder builder;
  const Ints trailing = {0, 65, 65, 75};
  EXPECT_THAT(values(builder.prepare_chunk_indices(trailing, 64).value()),
              ElementsAre(0, 0, 0, 1, 1, 0));
  EXPECT_THAT(values(builder.prepare_chunk_offsets(trailing, 64).value()), ElementsAre(0, 2, 2, 3));
}

TEST(FlaChunks, NoSequenceIsAnErrorButAllEmptyIsNot) {
  FlaChunkBuilder builder;
  EXPECT_FALSE(builder.prepare_chunk_indices(Ints{0}, 64).ok());
  EXPECT_THAT(values(builder.prepare_chunk_offsets(Ints{0}, 64).value()), ElementsAre(0));
  const auto empty = builder.prepare_chunk_indices(Ints{0, 0, 0}, 64).value();
  EXPECT_EQ(empty.rows, 0);
  EXPECT_EQ(empty.cols, 2);
}

}  // namespace
}  // namespace hybridscope::metadata_functions_test
