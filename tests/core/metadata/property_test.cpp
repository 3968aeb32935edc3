// Random batches against naive versions that work token by token.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/metadata/batch_split.h"
#include "core/metadata/causal_conv1d_metadata_builder.h"
#include "core/metadata/chunk_metadata.h"
#include "sessions/conformance/varlen_chunks.h"
#include "sessions/conformance/vector_table.h"
#include "tests/core/metadata/batch_support.h"

namespace hybridscope::property_test {
namespace {

using test::values;
using Ints = std::vector<std::int32_t>;

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

TEST(Property, VarlenChunksCoverEveryTokenOnceInItsSequenceAndItsGridCell) {
  SCOPED_TRACE(kSeed);
  Random random;
  for (int round = 0; round < kRounds; ++round) {
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
    ASSERT_EQ(chunks, naive) << "round " << round;
  }
}

TEST(Property, Mamba2ChunksBreakWhereTheSequencesOwnPositionReachesTheGrid) {
  SCOPED_TRACE(kSeed);
  Random random;
  Mamba2ChunkMetadataBuilder builder;
  for (int round = 0; round < kRounds; ++round) {
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
    Ints starts;
    Ints sequences;
    Ints last;
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
    ASSERT_EQ(values(chunks.cu_chunk_seqlen_p), starts) << "round " << round;
    ASSERT_EQ(values(chunks.seq_idx_p), sequences) << "round " << round;
    ASSERT_EQ(values(chunks.last_chunk_indices_p), last) << "round " << round;
  }
}

TEST(Property, FlaChunksCountEachSequenceOnItsOwn) {
  SCOPED_TRACE(kSeed);
  Random random;
  FlaChunkBuilder builder;
  for (int round = 0; round < kRounds; ++round) {
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
    ASSERT_EQ(values(builder.prepare_chunk_indices(cu_seqlens, chunk_size).value()), indices)
        << "round " << round;
    ASSERT_EQ(values(builder.prepare_chunk_offsets(cu_seqlens, chunk_size).value()), offsets)
        << "round " << round;
  }
}

TEST(Property, ConvProgramsCoverEveryEighthToken) {
  SCOPED_TRACE(kSeed);
  Random random;
  CausalConv1dMetadataBuilder builder;
  for (int round = 0; round < kRounds; ++round) {
    Ints lengths = random_lengths(random);
    if (random(0, 9) == 0) lengths.push_back(random(8000, 12000));
    Ints rows;
    Ints programs;
    for (std::size_t r = 0; r < lengths.size(); ++r)
      for (std::int32_t i = 0; i < lengths[r]; i += 8) {
        rows.push_back(static_cast<std::int32_t>(r));
        programs.push_back(i / 8);
      }
    const auto m = builder.compute(offsets_of(lengths)).value();
    const std::size_t length = 2 * std::max<std::size_t>(1024, rows.size());
    rows.resize(length, -1);
    programs.resize(length, -1);
    ASSERT_EQ(values(m.batch_ptr), rows) << "round " << round;
    ASSERT_EQ(values(m.token_chunk_offset_ptr), programs) << "round " << round;
  }
}

TEST(Property, SplitTakesTheLongestPrefixOfShortRows) {
  SCOPED_TRACE(kSeed);
  Random random;
  for (int round = 0; round < kRounds; ++round) {
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
              naive)
        << "round " << round;
    ASSERT_EQ(split_decodes_and_prefills_v2(batch.view(), {.decode_threshold = threshold}).value(),
              naive)
        << "round " << round;
  }
}

TEST(Property, GatherTakesTheColumnOfTheLastToken) {
  SCOPED_TRACE(kSeed);
  Random random;
  for (int round = 0; round < kRounds; ++round) {
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
    ASSERT_EQ(gathered.ok(), !outside) << "round " << round;
    if (!gathered) continue;
    ASSERT_EQ(values(gathered.value()), naive) << "round " << round;
  }
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
}  // namespace hybridscope::property_test
