#include "core/metadata/mamba_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/metadata/mamba2_builder.h"
#include "tests/core/metadata/batch_support.h"

namespace hybridscope::mamba_builder_test {
namespace {

using test::Batch;
using test::flags;
using test::make_batch;
using test::values;
using ::testing::Each;
using ::testing::ElementsAre;
using Ints = std::vector<std::int32_t>;

// align mode, block_size 4, K = 1, full graphs up to 8 rows.
MambaBuilderConfig align_config() {
  return {.mamba_cache_mode = MambaCacheMode::align,
          .block_size = 4,
          .num_spec = 1,
          .num_speculative_blocks = 1,
          .max_num_seqs = 8,
          .max_model_len = 64,
          .full_cudagraph = true,
          .chunk_size = 8};
}

TensorView<std::int32_t> view_of(const Ints& list) {
  return vector_view(list.data(), static_cast<std::int32_t>(list.size()));
}

TEST(MambaBuilder, MixedBatchSplitsStateIndicesAndStartsPrefillsAtZero) {
  auto builder = MambaMetadataBuilder::create(align_config()).value();
  const Batch batch = make_batch({{6, 2}, {12, 5}, {0, 9}}, 6);
  const Ints accepted = {2, 1, 1};
  const MambaMetadata m = builder
                              .build({.common = batch.view(),
                                      .split = {1, 2, 2, 14},
                                      .num_accepted_tokens = view_of(accepted)})
                              .value();
  EXPECT_THAT(values(m.state_indices_tensor_d), ElementsAre(101, 102));  // seq_len 8: column 1
  EXPECT_THAT(values(m.state_indices_tensor_p), ElementsAre(204, 302));  // 17: 4, 9: 2
  EXPECT_THAT(values(m.query_start_loc_d), ElementsAre(0, 2));
  EXPECT_THAT(values(m.query_start_loc_p), ElementsAre(0, 5, 14));
  EXPECT_THAT(flags(m.has_initial_states_p), ElementsAre(1, 0));
  EXPECT_THAT(values(m.num_accepted_tokens), ElementsAre(2));
  EXPECT_THAT(values(m.conv1d.nums), ElementsAre(1, 2));
  EXPECT_FALSE(builder.buffers_refreshed_in_last_build());
}

TEST(MambaBuilder, DecodeBatchIsReadFromPersistentBuffers) {
  auto builder = MambaMetadataBuilder::create(align_config()).value();
  const Batch batch = make_batch({{6, 2}, {2, 1}, {0, 0}}, 6);
  const Ints accepted = {2, 1, 1};
  const MambaMetadata m = builder
                              .build({.common = batch.view(),
                                      .split = {3, 0, 3, 0},
                                      .num_accepted_tokens = view_of(accepted)})
                              .value();
  EXPECT_EQ(m.state_indices_tensor_d.data, builder.persistent_views().state_indices_tensor_d.data);
  EXPECT_EQ(m.num_accepted_tokens.data, builder.persistent_views().num_accepted_tokens.data);
  EXPECT_THAT(values(m.state_indices_tensor_d), ElementsAre(101, 102, 200, 201, 300, 301));
  EXPECT_TRUE(builder.buffers_refreshed_in_last_build());
}

TEST(MambaBuilder, RowClassesDecideNotLengths) {
  auto builder = MambaMetadataBuilder::create(align_config()).value();
  const Batch batch = make_batch({{6, 2}, {6, 2}}, 6);  // the second row is a chunk of a prompt
  const Ints accepted = {2, 1};
  const auto by_shape = split_mamba_batch_by_shape(batch.view(), builder.reorder_batch_threshold(),
                                                   view_of(accepted));
  EXPECT_EQ(by_shape.value(), (BatchSplit{2, 0, 4, 0}));
  const RowClass classes[] = {RowClass::verify, RowClass::prefill};
  const auto by_class = split_by_row_class({classes, batch.query_start_loc, 4});
  const MambaMetadata m = builder
                              .build({.common = batch.view(),
                                      .split = by_class.value(),
                                      .num_accepted_tokens = view_of(accepted)})
                              .value();
  EXPECT_EQ(m.num_prefills, 1);
  EXPECT_THAT(flags(m.has_initial_states_p), ElementsAre(1));
}

TEST(MambaBuilder, ThresholdIsOneWithoutAcceptedCounts) {
  const Batch batch = make_batch({{6, 2}, {6, 2}}, 6);
  EXPECT_EQ(split_mamba_batch_by_shape(batch.view(), 2, {}).value(), (BatchSplit{0, 2, 0, 4}));
}

TEST(MambaBuilder, DecodesUnderSpeculationNeedAcceptedCounts) {
  auto builder = MambaMetadataBuilder::create(align_config()).value();
  const Batch batch = make_batch({{6, 2}}, 6);
  EXPECT_FALSE(builder.build({.common = batch.view(), .split = {1, 0, 2, 0}}).ok());
}

TEST(MambaBuilder, FailedBuildLeavesThePersistentBuffersAlone) {
  auto builder = MambaMetadataBuilder::create(align_config()).value();
  const Batch batch = make_batch({{6, 2}}, 6);
  const Ints accepted = {2};
  const MambaBuildInputs inputs{
      .common = batch.view(), .split = {1, 0, 2, 0}, .num_accepted_tokens = view_of(accepted)};
  ASSERT_TRUE(builder.build(inputs).ok());
  const Batch too_long = make_batch({{40, 2}}, 6);
  EXPECT_FALSE(builder
                   .build({.common = too_long.view(),
                           .split = {1, 0, 2, 0},
                           .num_accepted_tokens = view_of(accepted)})
                   .ok());
  EXPECT_FALSE(builder.buffers_refreshed_in_last_build());
  EXPECT_EQ(builder.persistent_views().state_indices_tensor_d.at(0, 0), 101);
}

TEST(MambaBuilder, AllModeCutsBlockIndicesToTokensAndShowsStaleRows) {
  MambaBuilderConfig config = align_config();
  config.mamba_cache_mode = MambaCacheMode::all;
  config.max_model_len = 24;  // 6 columns
  auto builder = MambaMetadataBuilder::create(config).value();
  const Ints accepted = {2, 2};
  const Batch two_rows = make_batch({{6, 2}, {14, 2}}, 6);
  const MambaMetadata first = builder
                                  .build({.common = two_rows.view(),
                                          .split = {2, 0, 4, 0},
                                          .num_accepted_tokens = view_of(accepted)})
                                  .value();
  EXPECT_THAT(values(first.block_idx_last_scheduled_token),
              ElementsAre(1, 3, kNeverWritten, kNeverWritten));
  const Ints one = {1};
  const Batch one_row = make_batch({{8, 2}}, 6);
  const MambaMetadata second = builder
                                   .build({.common = one_row.view(),
                                           .split = {1, 0, 2, 0},
                                           .num_accepted_tokens = view_of(one)})
                                   .value();
  EXPECT_THAT(values(second.block_idx_last_scheduled_token), ElementsAre(2, 3));
}

// update_block_table fails when num_decode_tokens < num_decodes (semantics: update-block-table).
// Also with one token, where a lone row would be broadcast onto its own memory.
TEST(MambaBuilder, AllModeUpdateNeedsABlockIndexForEachDecodeRow) {
  MambaBuilderConfig config = align_config();
  config.mamba_cache_mode = MambaCacheMode::all;
  config.max_model_len = 24;  // 6 columns
  const Ints table = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  for (const std::int32_t tokens : {1, 2}) {
    auto builder = MambaMetadataBuilder::create(config).value();
    const Ints accepted = {1, 1};
    const Batch batch = make_batch({{6, tokens}, {0, 0}}, 6);
    const MambaMetadata m = builder
                                .build({.common = batch.view(),
                                        .split = {2, 0, tokens, 0},
                                        .num_accepted_tokens = view_of(accepted)})
                                .value();
    EXPECT_EQ(m.block_idx_last_scheduled_token.rows, tokens);
    EXPECT_EQ(builder.update_block_table(m, matrix_view(table.data(), 2, 6)).ok(), tokens == 2);
  }
}

TEST(MambaBuilder, AllModeNeedsATableAsWideAsTheModelIsLong) {
  MambaBuilderConfig config = align_config();
  config.mamba_cache_mode = MambaCacheMode::all;
  config.num_spec = 0;
  config.max_model_len = 24;
  auto builder = MambaMetadataBuilder::create(config).value();
  const Batch narrow = make_batch({{6, 1}}, 5);
  EXPECT_FALSE(builder.build({.common = narrow.view(), .split = {1, 0, 1, 0}}).ok());
  const Batch single = make_batch({{6, 1}}, 1);
  const auto m = builder.build({.common = single.view(), .split = {1, 0, 1, 0}});
  EXPECT_THAT(values(m.value().state_indices_tensor_d), Each(100));
  EXPECT_EQ(m.value().state_indices_tensor_d.cols, 6);
}

TEST(MambaBuilder, SplitMustCoverTheRows) {
  auto builder = MambaMetadataBuilder::create(align_config()).value();
  const Batch batch = make_batch({{0, 5}, {0, 5}}, 6);
  EXPECT_FALSE(builder.build({.common = batch.view(), .split = {0, 1, 0, 5}}).ok());
}

TEST(MambaBuilder, UpdateTakesTheTableOfTheOtherGroup) {
  MambaBuilderConfig config = align_config();
  config.num_spec = 0;
  config.num_speculative_blocks = 0;
  auto first = MambaMetadataBuilder::create(config).value();
  auto second = MambaMetadataBuilder::create(config).value();
  const Batch batch = make_batch({{6, 1}, {0, 9}}, 6);
  const MambaMetadata m = first.build({.common = batch.view(), .split = {1, 1, 1, 9}}).value();
  const Ints table = {10, 11, 12, 20, 21, 22};
  const MambaMetadata updated =
      second.update_block_table(m, matrix_view(table.data(), 2, 3)).value();
  EXPECT_THAT(values(updated.state_indices_tensor_d), ElementsAre(11));
  EXPECT_THAT(values(updated.state_indices_tensor_p), ElementsAre(22));
  EXPECT_THAT(values(updated.query_start_loc_p), ElementsAre(0, 9));
  EXPECT_FALSE(second.update_block_table(m, matrix_view(table.data(), 1, 6)).ok());
  EXPECT_TRUE(first.supports_update_block_table());
  EXPECT_FALSE(MambaMetadataBuilder::create(align_config()).value().supports_update_block_table());
}

TEST(MambaBuilder, CaptureTakesUniformDecodesOnly) {
  auto builder = MambaMetadataBuilder::create(align_config()).value();
  const MambaMetadata m =
      builder.build_for_cudagraph_capture(make_batch({{0, 2}, {0, 2}}, 6).view()).value();
  EXPECT_EQ(m.num_decodes, 2);
  EXPECT_THAT(values(m.num_accepted_tokens), ElementsAre(2, 2));
  EXPECT_FALSE(builder.build_for_cudagraph_capture(make_batch({{0, 1}}, 6).view()).ok());
  EXPECT_FALSE(builder.build_for_cudagraph_capture(make_batch({{0, 3}}, 6).view()).ok());
  const std::vector<test::Row> nine(9, test::Row{0, 2});
  EXPECT_FALSE(builder.build_for_cudagraph_capture(make_batch(nine, 6).view()).ok());
}

TEST(MambaBuilder, CopiedBuilderHasBuffersOfItsOwn) {
  MambaBuilderConfig config = align_config();
  config.num_spec = 0;
  auto builder = MambaMetadataBuilder::create(config).value();
  const Batch batch = make_batch({{6, 1}}, 6);
  ASSERT_TRUE(builder.build({.common = batch.view(), .split = {1, 0, 1, 0}}).ok());
  auto copy = builder;
  const Batch later = make_batch({{14, 1}}, 6);
  ASSERT_TRUE(copy.build({.common = later.view(), .split = {1, 0, 1, 0}}).ok());
  EXPECT_EQ(builder.persistent_views().state_indices_tensor_d.at(0), 101);
  EXPECT_EQ(copy.persistent_views().state_indices_tensor_d.at(0), 103);
}

TEST(Mamba2Builder, ChunksFollowThePrefillRows) {
  MambaBuilderConfig config = align_config();
  config.num_spec = 0;
  auto builder = Mamba2MetadataBuilder::create(config).value();
  const Batch batch = make_batch({{9, 1}, {5, 10}, {0, 3}}, 6);
  const Mamba2Metadata m = builder.build({.common = batch.view(), .split = {1, 2, 1, 13}}).value();
  EXPECT_TRUE(m.prep_initial_states);
  EXPECT_EQ(m.chunk_size, 8);
  EXPECT_THAT(values(m.cu_chunk_seqlen_p), ElementsAre(0, 3, 10, 13));
  EXPECT_THAT(values(m.seq_idx_p), ElementsAre(0, 0, 1));
  EXPECT_THAT(values(m.last_chunk_indices_p), ElementsAre(1, 2));
}

TEST(Mamba2Builder, DecodesHaveNoChunks) {
  MambaBuilderConfig config = align_config();
  config.num_spec = 0;
  auto builder = Mamba2MetadataBuilder::create(config).value();
  const Batch batch = make_batch({{9, 1}}, 6);
  const Mamba2Metadata m = builder.build({.common = batch.view(), .split = {1, 0, 1, 0}}).value();
  EXPECT_FALSE(m.prep_initial_states);
  EXPECT_FALSE(m.cu_chunk_seqlen_p.present);
  EXPECT_TRUE(builder.buffers_refreshed_in_last_build());
}

TEST(Mamba2Builder, NeedsAChunkSize) {
  MambaBuilderConfig config = align_config();
  config.chunk_size = std::nullopt;
  EXPECT_FALSE(Mamba2MetadataBuilder::create(config).ok());
  EXPECT_TRUE(MambaMetadataBuilder::create(config).ok());
}

TEST(MambaBuilder, RefusesSettingsOutOfRange) {
  MambaBuilderConfig config = align_config();
  config.block_size = 0;
  EXPECT_FALSE(MambaMetadataBuilder::create(config).ok());
  config = align_config();
  config.num_spec = -1;
  EXPECT_FALSE(MambaMetadataBuilder::create(config).ok());
}

}  // namespace
}  // namespace hybridscope::mamba_builder_test
