// The functions that builders share, as worked examples and on random batches (semantics:
// mamba-get-block-table-tensor, compute-causal-conv1d-metadata, compute-chunk-metadata,
// prepare-chunk-indices, prepare-chunk-offsets).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "core/metadata/batch_split.h"
#include "core/metadata/block_table_gather.h"
#include "core/metadata/chunk_metadata.h"
#include "core/metadata/common_attention_metadata.h"
#include "sessions/conformance/planned_copies.h"
#include "sessions/conformance/vector_states.h"
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

// Random batches against naive versions that work token by token.

constexpr std::uint64_t kSeed = 20260629;
constexpr int kRounds = 400;

struct Random {
  std::mt19937_64 engine{kSeed};
  std::int32_t operator()(std::int32_t least, std::int32_t most) {
    return least +
           static_cast<std::int32_t>(engine() % static_cast<std::uint64_t>(most - least + 1));
  }
};

Ints random_lengths(Random& random) {
  Ints lengths(static_cast<std::size_t>(random(0, 12)));
  for (std::int32_t& length : lengths) length = random(0, 3) == 0 ? 0 : random(1, 90);
  return lengths;
}

Ints offsets_of(const Ints& lengths) {
  Ints offsets{0};
  for (const std::int32_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

// Fails with the seed and the round of the first check that fails.
void each_round(const std::function<void(Random&)>& check) {
  Random random;
  for (int round = 0; round < kRounds && !testing::Test::HasFatalFailure(); ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round);
    check(random);
  }
}

TEST(Property, VarlenChunksCoverEveryTokenOnceInItsSequenceAndItsGridCell) {
  each_round([&](Random& random) {
    const Ints lengths = random_lengths(random);
    const std::int32_t chunk_size = random(1, 64);
    const auto chunks = compute_varlen_chunk_metadata(offsets_of(lengths), chunk_size).value();
    VarlenChunkMetadata naive{{0}, Ints(lengths.size(), -1), {}};
    std::int32_t token = 0;
    for (std::size_t s = 0; s < lengths.size(); ++s)
      for (std::int32_t i = 0; i < lengths[s]; ++i, ++token) {
        if (i == 0 || token % chunk_size == 0) {
          naive.seq_idx_chunks.push_back(static_cast<std::int32_t>(s));
          naive.cu_chunk_seqlens.push_back(token);
        }
        naive.cu_chunk_seqlens.back() = token + 1;
        naive.last_chunk_indices[s] = static_cast<std::int32_t>(naive.seq_idx_chunks.size()) - 1;
      }
    ASSERT_EQ(chunks, naive);
  });
}

TEST(Property, Mamba2ChunksBreakWhereTheSequencesOwnPositionReachesTheGrid) {
  Mamba2ChunkMetadataBuilder builder;
  each_round([&](Random& random) {
    Ints lengths = random_lengths(random);
    for (std::int32_t& length : lengths) length = std::max(length, 1);
    Ints computed(lengths.size());
    for (std::int32_t& tokens : computed) tokens = random(0, 1) == 0 ? 0 : random(1, 200);
    const std::int32_t chunk_size = random(1, 64);
    const auto chunks = builder
                            .compute({.chunk_size = chunk_size,
                                      .num_computed_tokens_p = computed,
                                      .query_start_loc_p = offsets_of(lengths)})
                            .value();
    Ints starts, sequences, last;
    std::int32_t token = 0;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      for (std::int32_t i = 0; i < lengths[s]; ++i, ++token)
        if (i == 0 || (computed[s] + i) % chunk_size == 0) {
          starts.push_back(token);
          sequences.push_back(static_cast<std::int32_t>(s));
        }
      last.push_back(static_cast<std::int32_t>(starts.size()) - 1);
    }
    starts.push_back(token);
    ASSERT_EQ(values(chunks.cu_chunk_seqlen_p), starts);
    ASSERT_EQ(values(chunks.seq_idx_p), sequences);
    ASSERT_EQ(values(chunks.last_chunk_indices_p), last);
  });
}

TEST(Property, FlaChunksCountEachSequenceOnItsOwn) {
  FlaChunkBuilder builder;
  each_round([&](Random& random) {
    Ints lengths = random_lengths(random);
    lengths.push_back(random(0, 70));
    const std::int32_t chunk_size = random(1, 64);
    Ints indices;
    Ints offsets{0};
    std::int32_t with_chunks = 0;
    for (const std::int32_t length : lengths) {
      std::int32_t chunks = 0;
      for (std::int32_t i = 0; i < length; i += chunk_size) {
        indices.push_back(with_chunks);
        indices.push_back(chunks++);
      }
      with_chunks += chunks > 0 ? 1 : 0;
      offsets.push_back(offsets.back() + chunks);
    }
    const Ints cu_seqlens = offsets_of(lengths);
    ASSERT_EQ(values(builder.prepare_chunk_indices(cu_seqlens, chunk_size).value()), indices);
    ASSERT_EQ(values(builder.prepare_chunk_offsets(cu_seqlens, chunk_size).value()), offsets);
  });
}

TEST(Property, ConvProgramsCoverEveryEighthToken) {
  CausalConv1dMetadataBuilder builder;
  each_round([&](Random& random) {
    Ints lengths = random_lengths(random);
    if (random(0, 9) == 0) lengths.push_back(random(8000, 12000));
    Ints rows, programs;
    for (std::size_t r = 0; r < lengths.size(); ++r)
      for (std::int32_t i = 0; i < lengths[r]; i += 8) {
        rows.push_back(static_cast<std::int32_t>(r));
        programs.push_back(i / 8);
      }
    const auto m = builder.compute(offsets_of(lengths)).value();
    const std::size_t length = 2 * std::max<std::size_t>(1024, rows.size());
    rows.resize(length, -1);
    programs.resize(length, -1);
    ASSERT_EQ(values(m.batch_ptr), rows);
    ASSERT_EQ(values(m.token_chunk_offset_ptr), programs);
  });
}

TEST(Property, SplitTakesTheLongestPrefixOfShortRows) {
  each_round([&](Random& random) {
    std::vector<test::Row> rows(static_cast<std::size_t>(random(1, 8)));
    for (test::Row& row : rows) row = {random(0, 50), random(0, 2) == 0 ? random(0, 20) : 1};
    test::Batch batch = test::make_batch(rows, 1);
    batch.num_actual_tokens += random(0, 3);
    batch.max_query_len += random(0, 1) * random(0, 5);
    const std::int32_t threshold = random(1, 4);
    std::int32_t decodes = 0;
    std::int32_t tokens = 0;
    while (decodes < batch.num_reqs() &&
           rows[static_cast<std::size_t>(decodes)].query_len <= threshold)
      tokens += rows[static_cast<std::size_t>(decodes++)].query_len;
    if (decodes == batch.num_reqs()) tokens = batch.num_actual_tokens;
    const BatchSplit naive{decodes, batch.num_reqs() - decodes, tokens,
                           batch.num_actual_tokens - tokens};
    ASSERT_EQ(split_decodes_and_prefills(batch.view(), {.decode_threshold = threshold}).value(),
              naive);
    ASSERT_EQ(split_decodes_and_prefills_v2(batch.view(), {.decode_threshold = threshold}).value(),
              naive);
  });
}

TEST(Property, GatherTakesTheColumnOfTheLastToken) {
  each_round([&](Random& random) {
    const std::int32_t rows = random(0, 9);
    const std::int32_t columns = random(1, 12);
    const std::int32_t block_size = random(1, 600);
    const std::int32_t spec = random(0, 3);
    Ints table(static_cast<std::size_t>(rows * columns));
    for (std::int32_t& block : table) block = random(0, 5000);
    Ints seq_lens(static_cast<std::size_t>(rows));
    for (std::int32_t& len : seq_lens) len = random(0, columns * block_size);
    Ints naive;
    bool outside = false;
    for (std::int32_t r = 0; r < rows; ++r) {
      std::int32_t column = 0;
      while ((column + 1) * block_size < seq_lens[static_cast<std::size_t>(r)]) ++column;
      for (std::int32_t c = column; c <= column + spec; ++c) {
        outside = outside || c >= columns;
        if (!outside) naive.push_back(table[static_cast<std::size_t>(r * columns + c)]);
      }
    }
    Ints storage(static_cast<std::size_t>(rows * (spec + 2)));
    const auto gathered =
        mamba_get_block_table_tensor({.config = {.mamba_cache_mode = MambaCacheMode::align,
                                                 .block_size = ReciprocalDivider(block_size),
                                                 .num_speculative_blocks = spec},
                                      .block_table = matrix_view(table.data(), rows, columns),
                                      .seq_lens = seq_lens},
                                     storage);
    ASSERT_EQ(gathered.ok(), !outside);
    if (!gathered) return;
    ASSERT_EQ(values(gathered.value()), naive);
  });
}

TEST(Property, ReciprocalDivisionEqualsDivision) {
  SCOPED_TRACE(kSeed);
  Random random;
  for (int round = 0; round < 100 * kRounds; ++round) {
    const auto bits = static_cast<std::int32_t>((random.engine() >> 33) >> random(0, 30));
    const std::int32_t divisor = std::max(1, bits);
    const auto n = static_cast<std::int32_t>(random.engine() >> 33);
    ASSERT_EQ(ReciprocalDivider(divisor).divide(n), n / divisor) << n << " / " << divisor;
  }
}

}  // namespace
}  // namespace hybridscope::metadata_functions_test
