// What the metadata builders of later releases do otherwise (core/metadata/builder_policies.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/metadata/builder_metadata.h"
#include "core/metadata/builder_policies.h"
#include "core/metadata/gdn_builder.h"
#include "core/metadata/mamba2_builder.h"
#include "core/metadata/mamba_builder.h"
#include "tests/core/metadata/batch_support.h"

namespace hybridscope::release_builders_test {
namespace {

using test::Batch;
using test::flags;
using test::make_batch;
using test::values;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ints = std::vector<std::int32_t>;

// Mode align, blocks of 4 tokens, K = 2, full graphs of up to 12 tokens or 4 rows.
MambaBuilderConfig a_config() {
  return {.mamba_cache_mode = MambaCacheMode::align,
          .block_size = 4,
          .num_spec = 2,
          .num_speculative_blocks = 2,
          .max_num_seqs = 4,
          .max_model_len = 64,
          .full_cudagraph = true,
          .chunk_size = 8};
}

// Checkpoints on every hash block of 4 tokens.
MambaBuilderConfig checkpoint_config() {
  MambaBuilderConfig config = a_config();
  config.num_spec = 0;
  config.num_speculative_blocks = 0;
  config.checkpoint = {.alignment = 4, .hash_block_size = 4, .hit_alignment = 4};
  return config;
}

TensorView<std::int32_t> view_of(const Ints& list) {
  return vector_view(list.data(), static_cast<std::int32_t>(list.size()));
}

std::vector<std::string_view> names_of(const BuilderMetadata& metadata) {
  std::vector<std::string_view> names;
  for (const NamedArray& array : named_arrays(metadata)) names.push_back(array.name);
  return names;
}

// A batch whose rows all prefill but the first `decodes`.
Batch prefilling_batch(std::initializer_list<test::Row> rows, std::size_t decodes = 0) {
  Batch batch = make_batch(rows, 8);
  batch.is_prefilling.assign(rows.size(), 1);
  std::fill_n(batch.is_prefilling.begin(), decodes, std::uint8_t{0});
  return batch;
}

BatchSplit mamba_split(const Batch& batch, const MambaRowInput& input) {
  std::vector<std::uint8_t> prefilling(batch.seq_lens.size());
  return split_mamba_batch_by_prefilling(batch.view(), input, prefilling).value();
}

TEST(MambaRowsByPrefilling, OneTokenIsADecodeOnlyIfItsRequestHasAState) {
  EXPECT_EQ(mamba_split(prefilling_batch({{6, 1}, {6, 2}}), {}), (BatchSplit{1, 1, 1, 2}));
  EXPECT_EQ(mamba_split(prefilling_batch({{0, 1}, {6, 2}}), {}), (BatchSplit{0, 2, 0, 3}));
}

TEST(MambaRowsByPrefilling, APaddedTailWithAStateIsAVerifyRowFrom030On) {
  const Ints accepted = {1, 1, 1};
  const Ints drafts = {2, 2, 2};
  // A verify row, a padded tail after 6 tokens, a padded prompt of one token.
  const Batch batch = prefilling_batch({{9, 3}, {6, 3}, {0, 3}}, 1);
  MambaRowInput input{.reorder_batch_threshold = 3,
                      .num_accepted_tokens = view_of(accepted),
                      .num_decode_draft_tokens = view_of(drafts)};
  EXPECT_EQ(mamba_split(batch, input), (BatchSplit{1, 2, 3, 6}));
  input.padded_row_class = PaddedRowClass::decode_with_context;
  EXPECT_EQ(mamba_split(batch, input), (BatchSplit{2, 1, 6, 3}));
  const Ints last_chunk = {2, -1, -1};  // three tokens of a prompt are no tail
  input.num_decode_draft_tokens = view_of(last_chunk);
  EXPECT_EQ(mamba_split(batch, input), (BatchSplit{1, 2, 3, 6}));
}

TEST(MissingCounts, DecodeRowsAreRefusedRunWithoutOrCountTheirTokens) {
  const Batch batch = make_batch({{6, 1}, {9, 1}}, 8);
  const auto build = [&](MissingCounts policy) {
    auto builder = MambaMetadataBuilder::create(a_config()).value();
    const auto built =
        builder.build({.common = batch.view(), .split = {2, 0, 2, 0}, .policies = {policy}});
    if (!built) return std::string("refused");
    const MambaMetadata& m = built.value();
    EXPECT_THAT(values(m.state_indices_tensor_d), ElementsAre(101, 102, 103, 202, 203, 204));
    EXPECT_EQ(m.query_start_loc_d.present, m.num_accepted_tokens.present);
    return m.num_accepted_tokens.present ? ::testing::PrintToString(values(m.num_accepted_tokens))
                                         : std::string("absent");
  };
  EXPECT_EQ(build(MissingCounts::refused), "refused");
  EXPECT_EQ(build(MissingCounts::absent), "absent");
  EXPECT_EQ(build(MissingCounts::query_lengths), "{ 1, 1 }");
}

TEST(MissingCounts, AGraphKeepsTheCountsOfAnEarlierStep) {
  auto builder = MambaMetadataBuilder::create(a_config()).value();
  const PolicySet policies{MissingCounts::absent};
  const Batch batch = make_batch({{6, 1}}, 8);
  const Ints accepted = {3};
  ASSERT_TRUE(builder
                  .build({.common = batch.view(),
                          .split = {1, 0, 1, 0},
                          .num_accepted_tokens = view_of(accepted),
                          .policies = policies})
                  .ok());
  ASSERT_TRUE(
      builder.build({.common = batch.view(), .split = {1, 0, 1, 0}, .policies = policies}).ok());
  EXPECT_EQ(builder.persistent_views().num_accepted_tokens.at(0), 3);
}

TEST(Mamba1Counts, IgnoredCountsLeaveThresholdOne) {
  const PolicySet policies{Mamba1Counts::ignored};
  EXPECT_FALSE(MambaMetadataBuilder::create(a_config()).value().takes_counts(policies));
  EXPECT_TRUE(Mamba2MetadataBuilder::create(a_config()).value().takes_counts(policies));
}

// Mode all, blocks of 4 tokens, 16 tokens at most.
MambaMetadataBuilder all_mode_builder(AllModeArrays policy) {
  MambaBuilderConfig config = a_config();
  config.mamba_cache_mode = MambaCacheMode::all;
  config.max_model_len = 16;
  return MambaMetadataBuilder::create(config, {policy}).value();
}

TEST(AllModeArrays, GraphsHaveOneBlockColumnARowAndTablesHaveTheSpeculativeBlocks) {
  auto builder = all_mode_builder(AllModeArrays::cut_to_rows);
  const Batch batch = make_batch({{6, 3}, {2, 2}}, 6);  // ceil(16 / 4) + 2 columns
  const Ints accepted = {1, 1};
  const MambaMetadata m = builder
                              .build({.common = batch.view(),
                                      .split = {2, 0, 5, 0},
                                      .num_accepted_tokens = view_of(accepted)})
                              .value();
  EXPECT_TRUE(builder.buffers_refreshed_in_last_build());
  EXPECT_EQ(builder.persistent_views().state_indices_tensor_d.cols, 6);
  EXPECT_THAT(values(m.block_idx_last_scheduled_token), ElementsAre(2, 0));
  EXPECT_THAT(values(m.block_idx_last_computed_token), ElementsAre(1, 0));
}

TEST(AllModeArrays, Mamba1HasChunksOfABlock) {
  auto builder = all_mode_builder(AllModeArrays::cut_to_rows);
  const Batch batch = make_batch({{2, 5}, {0, 3}}, 6);
  const MambaMetadata m = builder.build({.common = batch.view(), .split = {0, 2, 0, 8}}).value();
  EXPECT_THAT(values(m.cu_chunk_seqlen_p), ElementsAre(0, 2, 5, 8));
  EXPECT_THAT(values(m.last_chunk_indices_p), ElementsAre(1, 2));
  EXPECT_EQ(m.num_state_writes_p, -1);
}

TEST(AllModeArrays, StateWritesAreTheBlocksThatEndInsideAPrefill) {
  auto builder = all_mode_builder(AllModeArrays::writes_counted);
  // Tokens 2..11: the blocks of tokens 0..3 and 4..7 end before the last token, 8..11 is the
  // row's running block. Tokens 0..2: none.
  const Batch batch = make_batch({{2, 10}, {0, 3}}, 6);
  const MambaMetadata m = builder.build({.common = batch.view(), .split = {0, 2, 0, 13}}).value();
  EXPECT_EQ(m.num_state_writes_p, 2);
}

TEST(AllModeArrays, FieldsOfLaterReleasesAreNotListedBefore) {
  EXPECT_THAT(names_of(MambaMetadata{}), ::testing::Not(::testing::Contains("num_state_writes_p")));
  EXPECT_THAT(names_of(MambaMetadata{.num_state_writes_p = 0}),
              ::testing::Contains("num_state_writes_p"));
  EXPECT_THAT(names_of(GdnMetadata{}),
              ::testing::Not(::testing::Contains("prefill_query_start_loc")));
}

struct GdnBuild {
  GdnBuild(const MambaBuilderConfig& config, GdnBatch the_layout)
      : builder(GdnMetadataBuilder::create(config).value()), layout(the_layout) {}

  GdnMetadata run(const Batch& batch, const Ints& drafts,
                  ZeroDrafts zero_drafts = ZeroDrafts::no_spec_rows) {
    masks.assign(batch.seq_lens.size(), 0);
    accepted.assign(batch.seq_lens.size(), 1);
    const auto classes = classify_gdn_rows_by_drafts(batch.view(),
                                                     {.num_spec = builder.config().num_spec,
                                                      .num_decode_draft_tokens = view_of(drafts),
                                                      .zero_drafts = zero_drafts,
                                                      .batch = layout},
                                                     masks)
                             .value();
    return builder
        .build({.common = batch.view(),
                .num_accepted_tokens = view_of(accepted),
                .row_classes = classes,
                .policies = {layout}})
        .value();
  }

  GdnMetadataBuilder builder;
  GdnBatch layout;
  std::vector<std::uint8_t> masks{};
  Ints accepted{};
};

TEST(GdnBatch, GraphsHaveOneRowARequest) {
  GdnBuild build(a_config(), GdnBatch::padded_to_rows);
  Batch batch = make_batch({{6, 3}, {9, 2}, {0, 0}}, 6);
  batch.num_actual_tokens = 9;
  const GdnMetadata m = build.run(batch, {2, 1, -1});
  EXPECT_THAT(values(m.spec_query_start_loc), ElementsAre(0, 3, 5, 5));
  EXPECT_THAT(flags(m.spec_sequence_masks), ElementsAre(1, 1, 0));
  EXPECT_EQ(m.spec_state_indices_tensor.rows, 3);
  EXPECT_EQ(m.uniform_spec_sequence_length, -1);
}

TEST(GdnBatch, DecodesBesidePrefillsAreLeftOutOfTheChunks) {
  GdnBuild build(a_config(), GdnBatch::padded_to_rows);
  const Batch batch = make_batch({{6, 1}, {0, 5}, {4, 70}}, 24);
  const GdnMetadata m = build.run(batch, {-1, -1, -1});
  EXPECT_EQ(m.num_decodes, 1);
  EXPECT_EQ(m.num_prefills, 2);
  EXPECT_THAT(values(m.non_spec_query_start_loc), ElementsAre(0, 1, 6, 76));
  EXPECT_THAT(values(m.prefill_query_start_loc), ElementsAre(0, 5, 75));
  EXPECT_THAT(values(m.prefill_state_indices), ElementsAre(201, 318));
  EXPECT_THAT(flags(m.has_initial_state), ElementsAre(1, 0, 1));
  EXPECT_THAT(flags(m.prefill_has_initial_state), ElementsAre(0, 1));
  EXPECT_THAT(values(m.chunk_indices), ElementsAre(0, 0, 1, 0, 1, 1));  // chunks of 64 tokens
  EXPECT_THAT(values(m.chunk_offsets), ElementsAre(0, 1, 3));
  EXPECT_THAT(values(m.conv1d.nums), ElementsAre(1, 1, 9));
}

TEST(GdnBatch, AFirstChunkOfOneTokenIsAPrefillFrom031On) {
  const Batch batch = prefilling_batch({{6, 1}, {0, 1}});
  GdnBuild before(a_config(), GdnBatch::padded_to_rows);
  EXPECT_EQ(before.run(batch, {-1, -1}).num_prefills, 0);
  GdnBuild build(a_config(), GdnBatch::first_chunks_as_prefills);
  const GdnMetadata m = build.run(batch, {-1, -1});
  EXPECT_EQ(m.num_decodes, 1);
  EXPECT_EQ(m.num_prefills, 1);
  Batch captured = batch;  // has no state either
  captured.is_prefilling.clear();
  EXPECT_EQ(build.run(captured, {-1, -1}).num_prefills, 0);
}

TEST(GdnBatch, PaddingRowsAreNotCountedAsPrefillsFrom031On) {
  Batch batch = prefilling_batch({{6, 1}, {0, 5}, {0, 0}});
  batch.num_actual_tokens = 8;
  GdnBuild before(a_config(), GdnBatch::padded_to_rows);
  const GdnMetadata counted = before.run(batch, {-1, -1, -1});
  EXPECT_EQ(counted.num_prefills, 2);
  EXPECT_EQ(counted.num_prefill_tokens, 7);
  GdnBuild build(a_config(), GdnBatch::first_chunks_as_prefills);
  const GdnMetadata m = build.run(batch, {-1, -1, -1});
  EXPECT_EQ(m.num_prefills, 1);
  EXPECT_EQ(m.num_prefill_tokens, 5);
  EXPECT_THAT(values(m.prefill_query_start_loc), ElementsAre(0, 5, 5));
}

TEST(GdnBatch, SpecRowsOfOneLengthAreToldSo) {
  GdnBuild build(a_config(), GdnBatch::first_chunks_as_prefills);
  EXPECT_EQ(
      build.run(make_batch({{6, 3}, {9, 3}, {0, 0}}, 8), {2, 2, -1}).uniform_spec_sequence_length,
      3);
  EXPECT_EQ(build.run(make_batch({{6, 3}, {9, 2}}, 8), {2, 1}).uniform_spec_sequence_length, -1);
}

TEST(ZeroDrafts, RowsWithoutDraftsAreSpecRowsFrom032On) {
  GdnBuild build(a_config(), GdnBatch::first_chunks_as_prefills);
  const Batch batch = make_batch({{6, 1}, {9, 1}}, 8);
  EXPECT_EQ(build.run(batch, {0, 0}).num_decodes, 2);
  const GdnMetadata m = build.run(batch, {0, 0}, ZeroDrafts::spec_rows);
  EXPECT_EQ(m.num_spec_decodes, 2);
  EXPECT_EQ(m.num_decodes, 0);
  EXPECT_EQ(build.run(batch, {-1, -1}, ZeroDrafts::spec_rows).num_spec_decodes, 0);
}

TEST(Checkpoints, AChunkOfMamba2EndsOnTheCheckpoint) {
  auto builder = Mamba2MetadataBuilder::create(checkpoint_config()).value();
  // 15 tokens after 4: the last hash block that a resend can hit ends at 16, 12 tokens into the
  // row; it goes to column ceil(19 / 4) - 2 = 3. Chunks of 8 end at 8, 16 and 19.
  const Batch batch = make_batch({{4, 15}, {0, 3}}, 8);
  const Mamba2Metadata m = builder.build({.common = batch.view(), .split = {0, 2, 0, 18}}).value();
  EXPECT_THAT(values(m.checkpoint_meta.checkpoint_offsets), ElementsAre(12, 0));
  EXPECT_THAT(values(m.checkpoint_meta.state_indices), ElementsAre(103, 0));
  EXPECT_THAT(values(m.cu_chunk_seqlen_p), ElementsAre(0, 4, 12, 15, 18));
  EXPECT_THAT(values(m.last_chunk_indices_p), ElementsAre(2, 3));
  EXPECT_THAT(values(m.checkpoint_chunk_idx), ElementsAre(1, 0));
}

TEST(Checkpoints, AnotherGroupStoresIntoItsOwnBlock) {
  auto builder = Mamba2MetadataBuilder::create(checkpoint_config()).value();
  const Batch batch = make_batch({{4, 15}}, 8);
  const Mamba2Metadata m = builder.build({.common = batch.view(), .split = {0, 1, 0, 15}}).value();
  const Ints other = {10, 11, 12, 13, 14, 15, 16, 17};
  const Mamba2Metadata updated =
      builder.update_block_table(m, matrix_view(other.data(), 1, 8)).value();
  EXPECT_THAT(values(updated.checkpoint_meta.state_indices), ElementsAre(13));
  EXPECT_THAT(values(updated.base.state_indices_tensor_p), ElementsAre(14));
}

TEST(Checkpoints, GdnHasOneEntryForEachRowWithoutDrafts) {
  GdnBuild build(checkpoint_config(), GdnBatch::first_chunks_as_prefills);
  const Batch batch = prefilling_batch({{6, 1}, {4, 15}}, 1);
  const GdnMetadata m = build.run(batch, {-1, -1});
  EXPECT_THAT(values(m.checkpoint.checkpoint_offsets), ElementsAre(0, 12));
  EXPECT_THAT(values(m.checkpoint.state_indices), ElementsAre(0, 203));
}

TEST(Checkpoints, ThereIsNoMetadataIfNoRowStoresAState) {
  GdnBuild build(checkpoint_config(), GdnBatch::first_chunks_as_prefills);
  // A chunk that starts after 6 tokens is off the grid; a resend of 4 tokens computes all of them.
  const Batch batch = prefilling_batch({{6, 13}, {0, 4}});
  const GdnMetadata m = build.run(batch, {-1, -1});
  EXPECT_FALSE(m.checkpoint.checkpoint_offsets.present);
}

TEST(CheckpointChunks, BothPartsOfARowAreCutByThePosition) {
  Mamba2ChunkMetadataBuilder builder;
  const auto cut = [&](const Ints& computed, const Ints& starts, const Ints& offsets) {
    return builder
        .compute({.chunk_size = 8,
                  .num_computed_tokens_p = computed,
                  .query_start_loc_p = starts,
                  .checkpoint_offsets_p = offsets})
        .value();
  };
  const Mamba2ChunkMetadata on_grid = cut({0}, {0, 30}, {24});
  EXPECT_THAT(values(on_grid.cu_chunk_seqlen_p), ElementsAre(0, 8, 16, 24, 30));
  EXPECT_THAT(values(on_grid.checkpoint_chunk_idx), ElementsAre(2));
  const Mamba2ChunkMetadata off_grid = cut({0}, {0, 30}, {20});
  EXPECT_THAT(values(off_grid.cu_chunk_seqlen_p), ElementsAre(0, 8, 16, 20, 24, 30));
  EXPECT_THAT(values(off_grid.last_chunk_indices_p), ElementsAre(4));
  EXPECT_THAT(values(off_grid.checkpoint_chunk_idx), ElementsAre(2));
  const Mamba2ChunkMetadata rows = cut({5, 0}, {0, 30, 33}, {11, 0});
  EXPECT_THAT(values(rows.cu_chunk_seqlen_p), ElementsAre(0, 3, 11, 19, 27, 30, 33));
  EXPECT_THAT(values(rows.seq_idx_p), ElementsAre(0, 0, 0, 0, 0, 1));
  EXPECT_THAT(values(rows.last_chunk_indices_p), ElementsAre(4, 5));
  EXPECT_THAT(values(rows.checkpoint_chunk_idx), ElementsAre(1, 0));
}

}  // namespace
}  // namespace hybridscope::release_builders_test
