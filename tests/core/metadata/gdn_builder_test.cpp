#include "core/metadata/gdn_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/metadata/builder_metadata.h"
#include "core/metadata/builder_policies.h"
#include "tests/core/metadata/batch_support.h"

namespace hybridscope::gdn_builder_test {
namespace {

using test::Batch;
using test::flags;
using test::make_batch;
using test::values;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ints = std::vector<std::int32_t>;

// align mode, block_size 4, K = 2, full graphs up to 12 tokens.
MambaBuilderConfig align_config() {
  return {.mamba_cache_mode = MambaCacheMode::align,
          .block_size = 4,
          .num_spec = 2,
          .num_speculative_blocks = 2,
          .max_num_seqs = 4,
          .max_model_len = 64,
          .full_cudagraph = true};
}

TensorView<std::int32_t> view_of(const Ints& list) {
  return vector_view(list.data(), static_cast<std::int32_t>(list.size()));
}

// Classes and metadata of one build, with the arrays they point to.
struct Build {
  GdnMetadataBuilder builder = GdnMetadataBuilder::create(align_config()).value();
  Batch batch{};
  Ints num_accepted_tokens{};
  PolicySet policies{};
  std::vector<std::uint8_t> masks{};

  Result<GdnMetadata> by_drafts(const Ints& drafts) {
    masks.assign(batch.seq_lens.size(), 0);
    return run(classify_gdn_rows_by_drafts(
        batch.view(), {.num_spec = 2, .num_decode_draft_tokens = view_of(drafts)}, masks));
  }
  Result<GdnMetadata> by_class(const std::vector<RowClass>& row_classes) {
    masks.assign(batch.seq_lens.size(), 0);
    return run(classify_gdn_rows_by_class(batch.view(), {.num_spec = 2, .row_classes = row_classes},
                                          masks));
  }
  Result<GdnMetadata> run(const Result<GdnRowClasses>& classes) {
    if (!classes) return classes.error();
    return builder.build({.common = batch.view(),
                          .num_accepted_tokens = view_of(num_accepted_tokens),
                          .row_classes = classes.value(),
                          .policies = policies});
  }
};

TEST(GdnRowClasses, NothingIsSpecWhenTheDraftCountsAddUpToZero) {
  const Batch batch = make_batch({{6, 1}, {6, 1}}, 6);
  std::vector<std::uint8_t> masks(2);
  const Ints no_drafts = {0, -1};
  const auto classes = classify_gdn_rows_by_drafts(
      batch.view(), {.num_spec = 2, .num_decode_draft_tokens = view_of(no_drafts)}, masks);
  EXPECT_FALSE(classes.value().spec_batch);
  EXPECT_EQ(classes.value().split, (BatchSplit{2, 0, 2, 0}));
  const auto not_given = classify_gdn_rows_by_drafts(batch.view(), {.num_spec = 2}, masks);
  EXPECT_FALSE(not_given.value().spec_batch);
}

TEST(GdnRowClasses, OneDraftMakesEveryCountedRowASpecRow) {
  const Batch batch = make_batch({{6, 2}, {6, 1}, {0, 5}}, 6);
  std::vector<std::uint8_t> masks(3);
  const Ints drafts = {1, 0, -1};
  const auto classes = classify_gdn_rows_by_drafts(
      batch.view(), {.num_spec = 2, .num_decode_draft_tokens = view_of(drafts)}, masks);
  EXPECT_TRUE(classes.value().spec_batch);
  EXPECT_THAT(masks, ElementsAre(1, 1, 0));
  const auto off = classify_gdn_rows_by_drafts(
      batch.view(), {.num_spec = 0, .num_decode_draft_tokens = view_of(drafts)}, masks);
  EXPECT_FALSE(off.value().spec_batch);
}

TEST(GdnRowClasses, ClassesNeedOneEntryARow) {
  const Batch batch = make_batch({{6, 2}, {6, 1}}, 6);
  std::vector<std::uint8_t> masks(2);
  const Ints drafts = {1};
  EXPECT_FALSE(classify_gdn_rows_by_drafts(
                   batch.view(), {.num_spec = 2, .num_decode_draft_tokens = view_of(drafts)}, masks)
                   .ok());
  const RowClass one[] = {RowClass::verify};
  EXPECT_FALSE(
      classify_gdn_rows_by_class(batch.view(), {.num_spec = 2, .row_classes = one}, masks).ok());
}

TEST(GdnBuilder, RowsWithoutAnyDraftStayOnTheSpecPathByClass) {
  Build build{.batch = make_batch({{6, 1}, {9, 1}}, 6), .num_accepted_tokens = {3, 1}};
  const GdnMetadata m = build.by_class({RowClass::verify, RowClass::verify}).value();
  EXPECT_EQ(m.num_spec_decodes, 2);
  EXPECT_EQ(m.num_spec_decode_tokens, 2);
  EXPECT_EQ(m.num_decodes, 0);
  EXPECT_THAT(values(m.spec_state_indices_tensor), ElementsAre(101, 102, 103, 202, 203, 204));
  EXPECT_THAT(values(m.spec_token_indx), ElementsAre(0, 1));
  EXPECT_THAT(values(m.num_accepted_tokens), ElementsAre(3, 1));
  EXPECT_THAT(values(m.spec_query_start_loc), ElementsAre(0, 1, 2));
  EXPECT_TRUE(build.builder.buffers_refreshed_in_last_build());
}

TEST(GdnBuilder, PureSpecGraphPadsToTokens) {
  Build build{.batch = make_batch({{6, 3}, {9, 2}, {0, 0}}, 6), .num_accepted_tokens = {3, 1, 9}};
  build.batch.num_actual_tokens = 6;
  const GdnMetadata m = build.by_drafts({2, 1, -1}).value();
  EXPECT_EQ(m.num_spec_decode_tokens, 5);
  EXPECT_THAT(values(m.spec_query_start_loc), ElementsAre(0, 3, 5, 5, 5, 5, 5));
  EXPECT_THAT(flags(m.spec_sequence_masks), ElementsAre(1, 1, 0, 0, 0, 0));
  EXPECT_THAT(values(m.num_accepted_tokens), ElementsAre(3, 1, 1, 1, 1, 1));
  EXPECT_EQ(m.spec_state_indices_tensor.rows, 6);
  EXPECT_EQ(m.spec_state_indices_tensor.at(1, 0), 202);
  EXPECT_EQ(m.spec_state_indices_tensor.at(2, 0), 0);
  EXPECT_THAT(values(m.non_spec_token_indx), IsEmpty());
  EXPECT_FALSE(m.non_spec_query_start_loc.present);
}

TEST(GdnBuilder, MixedBatchListsNonSpecTokensAndTurnsDecodesIntoPrefills) {
  Build build{.batch = make_batch({{6, 2}, {5, 1}, {0, 3}, {2, 2}}, 6),
              .num_accepted_tokens = {2, 1, 1, 1}};
  const GdnMetadata m = build.by_drafts({1, -1, -1, 1}).value();
  EXPECT_EQ(m.num_prefills, 2);
  EXPECT_EQ(m.num_prefill_tokens, 4);
  EXPECT_EQ(m.num_decodes, 0);
  EXPECT_THAT(values(m.non_spec_token_indx), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(values(m.spec_token_indx), ElementsAre(0, 1, 6, 7));
  EXPECT_EQ(m.token_indx_dtype, TokenIndxDtype::int64);
  EXPECT_THAT(values(m.spec_query_start_loc), ElementsAre(0, 2, 4));
  EXPECT_THAT(values(m.non_spec_query_start_loc), ElementsAre(0, 1, 4));
  EXPECT_THAT(values(m.non_spec_state_indices_tensor), ElementsAre(201, 300));
  EXPECT_THAT(flags(m.has_initial_state), ElementsAre(1, 0));
  EXPECT_THAT(values(m.chunk_indices), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(values(m.chunk_offsets), ElementsAre(0, 1, 2));
  EXPECT_FALSE(build.builder.buffers_refreshed_in_last_build());
}

TEST(GdnBuilder, WithoutSpecRowsPrefillFieldsCoverAllRows) {
  Build build{.batch = make_batch({{6, 1}, {0, 5}}, 6)};
  const GdnMetadata m = build.by_drafts({-1, -1}).value();
  EXPECT_EQ(m.num_decodes, 1);
  EXPECT_THAT(flags(m.has_initial_state), ElementsAre(1, 0));
  EXPECT_THAT(values(m.conv1d.nums), ElementsAre(1, 1));
  EXPECT_THAT(values(m.non_spec_query_start_loc), ElementsAre(0, 1, 6));
  EXPECT_FALSE(m.num_accepted_tokens.present);
}

TEST(GdnBuilder, OnlyTheTakenBranchWritesItsBuffers) {
  Build build{.batch = make_batch({{6, 3}}, 6), .num_accepted_tokens = {2}};
  ASSERT_TRUE(build.by_drafts({2}).ok());
  build.batch = make_batch({{14, 1}, {2, 1}}, 6);
  build.num_accepted_tokens = {1, 1};
  const GdnMetadata m = build.by_drafts({-1, -1}).value();
  EXPECT_THAT(values(m.non_spec_state_indices_tensor), ElementsAre(103, 200));
  EXPECT_FALSE(build.builder.buffers_refreshed_in_last_build());
  EXPECT_EQ(build.builder.persistent_views().spec_state_indices_tensor.at(0, 0), 102);
  EXPECT_EQ(build.builder.persistent_views().num_accepted_tokens.at(0), 2);
}

TEST(GdnBuilder, SpecBatchNeedsAcceptedCounts) {
  Build build{.batch = make_batch({{6, 3}}, 6)};
  EXPECT_FALSE(build.by_drafts({2}).ok());
}

TEST(GdnBuilder, EmptyBatchIsAnErrorWithFullGraphs) {
  Build build{.batch = make_batch({}, 6)};
  EXPECT_FALSE(build.by_drafts({}).ok());
}

// build() of gdn_attn.py takes block_table_tensor[:, 0] without comparing its rows with num_reqs.
TEST(GdnBuilder, NonSpecStatesOutsideAGraphHaveOneEntryARowOfTheTable) {
  MambaBuilderConfig config = align_config();
  config.mamba_cache_mode = MambaCacheMode::none;
  Build build{.builder = GdnMetadataBuilder::create(config).value(),
              .batch = make_batch({{6, 1}, {0, 5}}, 2)};
  build.batch.block_table = {7, 8, 9, 10, 11, 12};
  build.batch.table_rows = 3;
  const GdnMetadata m = build.by_drafts({-1, -1}).value();
  EXPECT_THAT(values(m.non_spec_state_indices_tensor), ElementsAre(7, 9, 11));
  EXPECT_THAT(values(m.non_spec_query_start_loc), ElementsAre(0, 1, 6));
}

// The copies into persistent arrays broadcast a single row and refuse any other row count; masking
// the table's rows refuses every difference.
TEST(GdnBuilder, GraphAndSpecBranchesTieTheRowsOfTheTableToTheBatch) {
  MambaBuilderConfig config = align_config();
  config.mamba_cache_mode = MambaCacheMode::none;
  Build build{.builder = GdnMetadataBuilder::create(config).value(),
              .batch = make_batch({{6, 1}, {5, 1}, {4, 1}}, 3),
              .num_accepted_tokens = {1, 1, 1}};
  build.batch.block_table = {7, 8, 9};
  build.batch.table_rows = 1;
  const GdnMetadata m = build.by_drafts({-1, -1, -1}).value();
  EXPECT_THAT(values(m.non_spec_state_indices_tensor), ElementsAre(7, 7, 7));
  EXPECT_FALSE(build.by_drafts({0, 1, -1}).ok());
  build.batch.block_table = {7, 8, 9, 10, 11, 12};
  build.batch.table_rows = 2;
  EXPECT_FALSE(build.by_drafts({-1, -1, -1}).ok());
}

TEST(GdnBuilder, CaptureOfOneTokenRowsIsNonSpec) {
  auto builder = GdnMetadataBuilder::create(align_config()).value();
  const Batch ones = make_batch({{0, 1}, {0, 1}}, 6);
  EXPECT_EQ(builder.build_for_cudagraph_capture(ones.view()).value().num_decodes, 2);
  const Batch threes = make_batch({{0, 3}, {0, 3}}, 6);
  const GdnMetadata m = builder.build_for_cudagraph_capture(threes.view()).value();
  EXPECT_EQ(m.num_spec_decodes, 2);
  EXPECT_EQ(m.num_accepted_tokens.at(0), 3);
  Batch wide = make_batch({{0, 3}}, 6);
  wide.num_actual_tokens = 13;
  EXPECT_FALSE(builder.build_for_cudagraph_capture(wide.view()).ok());
}

// Two groups of one spec: the second takes over the first one's metadata, or builds its own.
struct TwoGroups {
  MambaBuilderConfig config = align_config();
  PolicySet policies{};
  Batch batch{};
  std::vector<RowClass> row_classes{};

  Batch other_table() const {
    Batch other = batch;
    for (std::int32_t& block : other.block_table) block += 1000;
    return other;
  }
  // The arrays and their sizes, by name.
  static std::vector<std::pair<std::string, std::vector<std::int64_t>>> arrays(
      const GdnMetadata& metadata) {
    std::vector<std::pair<std::string, std::vector<std::int64_t>>> all;
    for (const NamedArray& array : named_arrays(BuilderMetadata(metadata))) {
      if (!array.present) continue;
      all.emplace_back(array.name, array.dims);
      all.emplace_back(array.name, array.values);
    }
    return all;
  }
  void expect_equal(const char* what) {
    Build first{.builder = GdnMetadataBuilder::create(config).value(),
                .batch = batch,
                .policies = policies};
    Build own{.builder = GdnMetadataBuilder::create(config).value(),
              .batch = other_table(),
              .policies = policies};
    auto updating = GdnMetadataBuilder::create(config).value();
    first.num_accepted_tokens = own.num_accepted_tokens = Ints(batch.seq_lens.size(), 2);
    const GdnMetadata built = first.by_class(row_classes).value();
    const Batch other = other_table();
    const GdnMetadata updated = updating.update_block_table(built, other.view()).value();
    const GdnMetadata expected = own.by_class(row_classes).value();
    EXPECT_EQ(arrays(updated), arrays(expected)) << what;
    EXPECT_EQ(updating.buffers_refreshed_in_last_build(),
              own.builder.buffers_refreshed_in_last_build())
        << what;
    // Batch-level arrays stay those of the first group.
    EXPECT_EQ(updated.spec_query_start_loc.data, built.spec_query_start_loc.data) << what;
    EXPECT_EQ(updated.num_accepted_tokens.data, built.num_accepted_tokens.data) << what;
  }
};

TEST(GdnBuilderUpdate, GivesTheArraysThatTheGroupWouldHaveBuilt) {
  constexpr RowClass kVerify = RowClass::verify;
  constexpr RowClass kPrefill = RowClass::prefill;
  for (const bool graphs : {true, false})
    for (const GdnBatch layout : {GdnBatch::padded_to_rows, GdnBatch::first_chunks_as_prefills}) {
      TwoGroups groups;
      groups.config.full_cudagraph = graphs;
      groups.policies.set(layout);
      groups.batch = make_batch({{6, 3}, {9, 2}}, 6);
      groups.row_classes = {kVerify, kVerify};
      groups.expect_equal("verify rows");
      groups.batch = make_batch({{6, 3}, {0, 5}, {9, 2}}, 6);
      groups.row_classes = {kVerify, kPrefill, kVerify};
      groups.expect_equal("a prefill between verify rows");
      groups.batch = make_batch({{4, 5}, {0, 3}}, 6);
      groups.row_classes = {kPrefill, kPrefill};
      groups.expect_equal("prefills");
      groups.config.num_spec = groups.config.num_speculative_blocks = 0;
      groups.batch = make_batch({{6, 1}, {9, 1}}, 6);
      groups.row_classes = {RowClass::decode, RowClass::decode};
      groups.expect_equal("decodes without speculation");
    }
}

TEST(GdnBuilderUpdate, WantsARowOfTheTableForEachRequest) {
  Build build{.batch = make_batch({{6, 3}, {9, 2}}, 6), .num_accepted_tokens = {1, 1}};
  const GdnMetadata built = build.by_class({RowClass::verify, RowClass::verify}).value();
  CommonAttentionMetadata common = build.batch.view();
  common.block_table_tensor = matrix_view(build.batch.block_table.data(), 1, 6);
  auto updating = GdnMetadataBuilder::create(align_config()).value();
  EXPECT_FALSE(updating.update_block_table(built, common).ok());
}

}  // namespace
}  // namespace hybridscope::gdn_builder_test
