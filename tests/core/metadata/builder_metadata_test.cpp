// What each kind of metadata says about itself.
#include "core/metadata/builder_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/ids.h"
#include "tests/core/metadata/batch_support.h"

namespace hybridscope::builder_metadata_test {
namespace {

using test::Batch;
using test::make_batch;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ints = std::vector<std::int32_t>;

TensorView<std::int32_t> view(const Ints& list) {
  return vector_view(list.data(), static_cast<std::int32_t>(list.size()));
}
TensorView<std::uint8_t> view(const std::vector<std::uint8_t>& list) {
  return vector_view(list.data(), static_cast<std::int32_t>(list.size()));
}
TensorView<std::int32_t> matrix(const Ints& list, std::int32_t cols) {
  return matrix_view(list.data(), static_cast<std::int32_t>(list.size()) / cols, cols);
}

std::vector<StateAccess> accesses_of(const BuilderMetadata& metadata,
                                     const ForwardContext& context) {
  std::vector<StateAccess> out;
  append_state_accesses(metadata, context, out);
  return out;
}

constexpr ForwardContext kAlign{.mamba_cache_mode = MambaCacheMode::align, .num_rows = 2};
constexpr ForwardContext kAll{.mamba_cache_mode = MambaCacheMode::all, .num_rows = 2};

TEST(StateAccess, AWindowRowReadsBehindItsAcceptedTokens) {
  const Ints states = {7, 8, 9};  // K = 2
  const Ints starts = {0, 3};
  const Ints accepted = {2};
  const auto rows = accesses_of(MambaMetadata{.num_decodes = 1,
                                              .state_indices_tensor_d = matrix(states, 3),
                                              .query_start_loc_d = view(starts),
                                              .num_accepted_tokens = view(accepted)},
                                kAlign);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].row, 0);
  EXPECT_TRUE(rows[0].is_decode);
  EXPECT_FALSE(rows[0].by_column);
  EXPECT_TRUE(rows[0].counts_given);
  EXPECT_EQ(rows[0].num_accepted_tokens, 2);
  EXPECT_EQ(rows[0].num_query_tokens, 3);
  EXPECT_THAT(rows[0].blocks, ElementsAre(7, 8, 9));
  EXPECT_EQ(rows[0].block_at(1), 8);
  EXPECT_EQ(rows[0].block_at(3), kPadSlotId);
}

TEST(StateAccess, PrefillRowsStandBehindTheDecodeRows) {
  const Ints decode_states = {7};
  const Ints prefill_states = {4};
  const std::vector<std::uint8_t> has_state = {1};
  const MambaMetadata base{.num_prefills = 1,
                           .num_decodes = 1,
                           .has_initial_states_p = view(has_state),
                           .state_indices_tensor_p = view(prefill_states),
                           .state_indices_tensor_d = matrix(decode_states, 1)};
  const auto rows = accesses_of(Mamba2Metadata{.base = base}, kAlign);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].row, 1);
  EXPECT_FALSE(rows[1].is_decode);
  EXPECT_TRUE(rows[1].has_initial_state);
  EXPECT_THAT(rows[1].blocks, ElementsAre(4));
}

TEST(StateAccess, ARowOfModeAllNamesColumnsOfItsWholeTable) {
  const Ints table = {0, 5, 6, 0};
  const Ints computed = {1};
  const Ints scheduled = {2};
  const MambaMetadata metadata{.num_decodes = 1,
                               .state_indices_tensor_d = matrix(table, 4),
                               .block_idx_last_scheduled_token = view(scheduled),
                               .block_idx_last_computed_token = view(computed)};
  const auto rows = accesses_of(metadata, kAll);
  EXPECT_TRUE(rows[0].by_column);
  EXPECT_EQ(rows[0].temporal_source_column, 1);
  EXPECT_EQ(rows[0].conv_source_column, 1);
  EXPECT_EQ(rows[0].last_scheduled_column, 2);
  EXPECT_EQ(rows[0].block_at(rows[0].last_scheduled_column), 6);
  EXPECT_TRUE(rows[0].runs_as_padding);  // no query_start_loc_d

  const Ints remembered = {0};
  ForwardContext given = kAll;
  given.temporal_source_column = view(remembered);
  EXPECT_EQ(accesses_of(metadata, given)[0].temporal_source_column, 0);
  EXPECT_EQ(accesses_of(metadata, given)[0].conv_source_column, 1);
}

TEST(StateAccess, MasksSayWhichRowsOfAMixedGdnBatchVerify) {
  // Rows 0 and 2 prefill, row 1 verifies one draft.
  const std::vector<std::uint8_t> masks = {0, 1, 0};
  const std::vector<std::uint8_t> has_state = {0, 1};
  const Ints spec_states = {4, 5};
  const Ints states = {2, 6};
  const Ints spec_starts = {0, 2};
  const Ints accepted = {1};
  const auto rows = accesses_of(GdnMetadata{.num_prefills = 2,
                                            .num_spec_decodes = 1,
                                            .has_initial_state = view(has_state),
                                            .spec_query_start_loc = view(spec_starts),
                                            .spec_state_indices_tensor = matrix(spec_states, 2),
                                            .non_spec_state_indices_tensor = view(states),
                                            .spec_sequence_masks = view(masks),
                                            .num_accepted_tokens = view(accepted)},
                                {.mamba_cache_mode = MambaCacheMode::align, .num_rows = 3});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].row, 1);
  EXPECT_TRUE(rows[0].is_decode);
  EXPECT_EQ(rows[0].first_gathered_token, 0);
  EXPECT_THAT(rows[0].blocks, ElementsAre(4, 5));
  EXPECT_EQ(rows[1].row, 0);
  EXPECT_EQ(rows[2].row, 2);
  EXPECT_FALSE(rows[2].is_decode);
  EXPECT_TRUE(rows[2].has_initial_state);
}

TEST(StateAccess, GraphRowsBehindAVerifyBatchBelongToNoRow) {
  const Ints spec_states = {4, 5, 0, 0};
  const Ints starts = {0, 2, 2};
  const auto rows = accesses_of(GdnMetadata{.num_spec_decodes = 1,
                                            .spec_query_start_loc = view(starts),
                                            .spec_state_indices_tensor = matrix(spec_states, 2)},
                                kAlign);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].row, -1);
  EXPECT_EQ(rows[1].index, 1);
  EXPECT_FALSE(rows[1].runs_as_padding);
}

TEST(StateAccess, ArraysThatAreTooShortTellNothing) {
  const auto mamba = accesses_of(MambaMetadata{.num_prefills = 1, .num_decodes = 1}, kAll);
  ASSERT_EQ(mamba.size(), 2U);
  EXPECT_THAT(mamba[0].blocks, IsEmpty());
  EXPECT_EQ(mamba[0].last_scheduled_column, -1);
  EXPECT_EQ(mamba[1].block_at(0), kPadSlotId);
}

std::vector<MetadataMismatch> mismatches_of(const BuilderMetadata& metadata,
                                            const MetadataBatch& batch) {
  std::vector<MetadataMismatch> out;
  append_mismatches(metadata, batch, out);
  return out;
}

// One prefill row: tokens 4 to 13 of a prompt, chunks of 8 positions: [4, 8) and [8, 14).
struct OnePrefill {
  Batch batch = make_batch({{4, 10}}, 4);
  std::vector<MetadataBatchRow> rows = {{.num_computed_tokens = 4, .num_scheduled_tokens = 10}};
  Ints starts = {0, 10};
  Ints states = {2};
  std::vector<std::uint8_t> has_state = {1};
  Ints ends = {0, 4, 10};
  Ints owners = {0, 0};
  Ints last = {1};

  MetadataBatch given() const {
    return {.common = batch.view(),
            .rows = rows,
            .mamba_cache_mode = MambaCacheMode::align,
            .block_size = 16};
  }
  Mamba2Metadata mamba2() const {
    return {.base = {.num_prefills = 1,
                     .num_prefill_tokens = 10,
                     .num_reqs = 1,
                     .has_initial_states_p = view(has_state),
                     .query_start_loc_p = view(starts),
                     .state_indices_tensor_p = view(states)},
            .prep_initial_states = true,
            .chunk_size = 8,
            .seq_idx_p = view(owners),
            .cu_chunk_seqlen_p = view(ends),
            .last_chunk_indices_p = view(last)};
  }
};

TEST(MetadataMismatches, NoneWhereMetadataAgreesWithTheBatch) {
  const OnePrefill prefill;
  EXPECT_THAT(mismatches_of(prefill.mamba2(), prefill.given()), IsEmpty());
}

TEST(MetadataMismatches, AChunkOfMamba2EndsAtAMultipleOfThePosition) {
  OnePrefill prefill;
  prefill.ends = {0, 8, 10};  // on the grid of packed tokens
  const auto found = mismatches_of(prefill.mamba2(), prefill.given());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, MismatchKind::inconsistent);
  EXPECT_EQ(found[0].expected, 4);
  EXPECT_EQ(found[0].seen, 8);
  EXPECT_EQ(found[0].detail, "cu_chunk_seqlen_p");
  EXPECT_EQ(found[0].row, 0);
}

TEST(MetadataMismatches, AnAcceptedCountOfAnotherRow) {
  const Batch batch = make_batch({{4, 1}}, 4);
  const std::vector<MetadataBatchRow> rows = {
      {.num_computed_tokens = 4, .num_scheduled_tokens = 1, .num_accepted_tokens = 2}};
  const Ints accepted = {1};
  const auto found = mismatches_of(MambaMetadata{.num_decodes = 1,
                                                 .num_decode_tokens = 1,
                                                 .num_reqs = 1,
                                                 .num_accepted_tokens = view(accepted)},
                                   {.common = batch.view(), .rows = rows, .num_spec = 1});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, MismatchKind::foreign_row);
  EXPECT_EQ(found[0].expected, 2);
  EXPECT_EQ(found[0].seen, 1);
}

TEST(NeededArrays, AForwardNeedsAStateIndexForEachRow) {
  std::vector<NeededArray> arrays;
  append_needed_arrays(MambaMetadata{.num_decodes = 3}, kAlign, arrays);
  EXPECT_EQ(arrays[0].name, "state_indices_tensor_d");
  EXPECT_EQ(arrays[0].expected_rows, 3);
  EXPECT_FALSE(arrays[0].present);
  EXPECT_EQ(arrays[1].name, "query_start_loc_d");  // may be absent
  EXPECT_EQ(arrays[1].expected_rows, 0);
}

TEST(ChunkView, Mamba2CutsByPosition) {
  const OnePrefill prefill;
  const ChunkView chunks = chunk_view(prefill.mamba2(), 1);
  EXPECT_TRUE(chunks.cuts_chunks);
  EXPECT_EQ(chunks.chunk_size, 8);
  ASSERT_EQ(chunks.sequences.size(), 1U);
  EXPECT_EQ(chunks.sequences[0].last, 10);
  ASSERT_EQ(chunks.chunks.size(), 2U);
  EXPECT_EQ(chunks.chunks[0].last, 4);
  EXPECT_FALSE(chunks.chunks[0].is_last);
  EXPECT_TRUE(chunks.chunks[1].is_last);
  EXPECT_EQ(chunks.arrays[0].name, "cu_chunk_seqlen_p");
}

TEST(ChunkView, GdnCutsEachSequenceFromItsFirstToken) {
  // Rows of 70 and 0 and 3 tokens: chunks [0, 64), [64, 70) and [70, 73).
  const Ints starts = {0, 70, 70, 73};
  const Ints indices = {0, 0, 0, 1, 1, 0};
  const Ints offsets = {0, 2, 2, 3};
  const ChunkView chunks = chunk_view(GdnMetadata{.num_prefills = 3,
                                                  .non_spec_query_start_loc = view(starts),
                                                  .chunk_indices = matrix(indices, 2),
                                                  .chunk_offsets = view(offsets)},
                                      3);
  EXPECT_EQ(chunks.chunk_size, 64);
  ASSERT_EQ(chunks.chunks.size(), 3U);
  EXPECT_EQ(chunks.chunks[1].first, 64);
  EXPECT_EQ(chunks.chunks[1].last, 70);
  EXPECT_TRUE(chunks.chunks[1].is_last);
  EXPECT_EQ(chunks.chunks[2].sequence, 2);
}

TEST(ChunkView, Mamba1CutsNone) {
  EXPECT_FALSE(chunk_view(MambaMetadata{}, 0).cuts_chunks);
  EXPECT_TRUE(chunk_view(GdnMetadata{}, 0).cuts_chunks);
}

TEST(MetadataRows, AnElementStandsForABatchRow) {
  const MetadataRows mamba = metadata_rows(MambaMetadata{.num_decodes = 2}, 3);
  EXPECT_FALSE(mamba.by_spec);
  EXPECT_EQ(mamba.batch_row(ArrayRows::decodes, 1), 1);
  EXPECT_EQ(mamba.batch_row(ArrayRows::prefills, 0), 2);
  EXPECT_EQ(mamba.batch_row(ArrayRows::none, 0), -1);

  const std::vector<std::uint8_t> masks = {0, 1, 0};
  const MetadataRows gdn = metadata_rows(GdnMetadata{.spec_sequence_masks = view(masks)}, 3);
  EXPECT_TRUE(gdn.by_spec);
  EXPECT_EQ(gdn.batch_row(ArrayRows::spec, 0), 1);
  EXPECT_EQ(gdn.batch_row(ArrayRows::non_spec, 1), 2);
  EXPECT_EQ(gdn.batch_row(ArrayRows::non_spec, 2), -1);
}

ArrayRows rows_of(const BuilderMetadata& metadata, std::string_view name) {
  for (const NamedArray& array : named_arrays(metadata)) {
    if (array.name == name) return array.rows;
  }
  return ArrayRows::none;
}

TEST(NamedArrays, SayWhichRowsTheyStandFor) {
  EXPECT_EQ(rows_of(GdnMetadata{}, "chunk_offsets"), ArrayRows::non_spec);
  EXPECT_EQ(rows_of(Mamba2Metadata{}, "last_chunk_indices_p"), ArrayRows::prefills);
  EXPECT_EQ(rows_of(Mamba2Metadata{}, "seq_lens"), ArrayRows::batch);
}

TEST(RowLengths, AreToldByOffsetsOfEachKindOfRow) {
  const Ints starts = {0, 10};
  const Ints lengths = {6, 14};
  const Ints computed = {5, 4};
  Ints told;
  const auto tell = [&](const BuilderMetadata& metadata) {
    return tell_row_lengths(metadata, computed, told);
  };
  MambaMetadata mamba{.num_prefills = 1,
                      .num_prefill_tokens = 10,
                      .num_decodes = 1,
                      .num_decode_tokens = 1,
                      .num_reqs = 2,
                      .query_start_loc_p = view(starts),
                      .seq_lens = view(lengths)};
  EXPECT_TRUE(tell(mamba));
  EXPECT_THAT(told, ElementsAre(1, 10));
  EXPECT_TRUE(tell(Mamba2Metadata{.base = mamba}));
  EXPECT_THAT(told, ElementsAre(1, 10));
  mamba.num_prefill_tokens = 9;  // contradicts the offsets
  EXPECT_FALSE(tell(mamba));

  const Ints both = {0, 1, 11};
  EXPECT_TRUE(tell(GdnMetadata{.num_prefills = 1,
                               .num_prefill_tokens = 10,
                               .num_decodes = 1,
                               .num_decode_tokens = 1,
                               .non_spec_query_start_loc = view(both)}));
  EXPECT_THAT(told, ElementsAre(1, 10));
}

TEST(RowCounts, AreThoseOfEachKindOfRow) {
  const MambaMetadata mamba{.num_prefills = 1, .num_decodes = 2};
  EXPECT_TRUE(has_num_rows(mamba, 3));
  EXPECT_TRUE(has_num_rows(Mamba2Metadata{.base = mamba}, 3));
  EXPECT_FALSE(has_num_rows(mamba, 4));
  EXPECT_TRUE(has_num_rows(GdnMetadata{.num_decodes = 2}, 2));
  // Four rows: the array of prefill rows, which is not there, has as many as it should, or not.
  EXPECT_EQ(wrong_row_count(Mamba2Metadata{.base = mamba}, 4)->detail, "num_prefills");
  EXPECT_EQ(wrong_row_count(MambaMetadata{.num_decodes = 2}, 4)->detail, "num_decodes");
  EXPECT_FALSE(wrong_row_count(GdnMetadata{.num_decodes = 2}, 4));
}

TEST(BuilderMetadata, EveryKindStandsForItself) {
  const std::vector<BuilderMetadata> kinds = every_kind_of_metadata();
  ASSERT_EQ(kinds.size(), std::variant_size_v<BuilderMetadata>);
  for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(kinds[i].index(), i);
}

// A kind that lacks one of these functions would be asked as BuilderMetadata, again and again.
TEST(BuilderMetadata, EveryKindAnswersForABatchWithoutRows) {
  const Batch batch;
  for (const BuilderMetadata& kind : every_kind_of_metadata()) {
    std::vector<NeededArray> arrays;
    append_needed_arrays(kind, kAlign, arrays);
    EXPECT_THAT(accesses_of(kind, kAlign), IsEmpty());
    mismatches_of(kind, {.common = batch.view()});
    EXPECT_TRUE(refreshes_persistent_buffers(kind, 0));
    EXPECT_FALSE(wrong_row_count(kind, 0));
    EXPECT_TRUE(has_num_rows(kind, 0));
    EXPECT_EQ(metadata_rows(kind, 0).first_prefill_row, 0);
    EXPECT_THAT(chunk_view(kind, 0).chunks, IsEmpty());
    Ints lengths;
    EXPECT_TRUE(tell_row_lengths(kind, {}, lengths));
  }
}

}  // namespace
}  // namespace hybridscope::builder_metadata_test
