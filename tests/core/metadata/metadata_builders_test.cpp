#include "core/metadata/metadata_builders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/metadata/builder_metadata.h"
#include "tests/core/metadata/batch_support.h"

namespace hybridscope::metadata_builders_test {
namespace {

using test::Batch;
using test::make_batch;
using ::testing::ElementsAre;
using Ints = std::vector<std::int32_t>;

MambaBuilderConfig small_config() {
  return {.mamba_cache_mode = MambaCacheMode::align,
          .block_size = 4,
          .max_num_seqs = 8,
          .max_model_len = 64,
          .full_cudagraph = true,
          .chunk_size = 8};
}

const NamedArray& array_named(const std::vector<NamedArray>& arrays, std::string_view name) {
  return *std::find_if(arrays.begin(), arrays.end(),
                       [name](const NamedArray& array) { return array.name == name; });
}

TEST(MetadataBuilders, EveryMambaTypeHasOneRow) {
  for (const MambaType type : {MambaType::mamba1, MambaType::mamba2, MambaType::linear_attention,
                               MambaType::short_conv, MambaType::gdn_attention, MambaType::kda})
    EXPECT_EQ(metadata_builder_row(type).mamba_type, type);
  EXPECT_EQ(kMetadataBuilders.size(), 6U);
}

TEST(MetadataBuilders, KdaUsesTheGdnBuilderAndLinearAttentionMamba1) {
  const auto kda = metadata_builder_row(MambaType::kda).create(small_config(), {});
  EXPECT_TRUE(std::holds_alternative<GdnMetadataBuilder>(kda.value()));
  const auto linear = metadata_builder_row(MambaType::linear_attention).create(small_config(), {});
  EXPECT_TRUE(std::holds_alternative<MambaMetadataBuilder>(linear.value()));
  EXPECT_EQ(metadata_builder_row(MambaType::linear_attention).cg_support,
            AttentionCGSupport::uniform_single_token_decode);
}

TEST(MetadataBuilders, EachBuildsADecodeBatchAndNamesItsArrays) {
  const Batch batch = make_batch({{6, 1}, {13, 1}}, 6);
  for (const MetadataBuilderRow& row : kMetadataBuilders) {
    auto builder = row.create(small_config(), {}).value();
    const BatchSplit split{2, 0, 2, 0};
    const auto metadata = build(
        builder, {.common = batch.view(), .split = split, .gdn_row_classes = {.split = split}});
    const auto arrays = named_arrays(metadata.value());
    const bool gdn = std::holds_alternative<GdnMetadata>(metadata.value());
    const auto& indices =
        array_named(arrays, gdn ? "non_spec_state_indices_tensor" : "state_indices_tensor_d");
    EXPECT_THAT(indices.values, ElementsAre(101, 203)) << row.reference_name;
    EXPECT_THAT(array_named(arrays, "num_decodes").values, ElementsAre(2));
    EXPECT_FALSE(array_named(arrays, "nums_dict").present);
    EXPECT_TRUE(buffers_refreshed_in_last_build(builder));
    EXPECT_EQ(reorder_batch_threshold(builder), 1);
  }
}

TEST(MetadataBuilders, EachCapturesOneTokenRows) {
  const Batch batch = make_batch({{0, 1}, {0, 1}}, 6);
  for (const MetadataBuilderRow& row : kMetadataBuilders) {
    auto builder = row.create(small_config(), {}).value();
    const auto captures = [&](auto& own) {
      return own.build_for_cudagraph_capture(batch.view()).ok();
    };
    EXPECT_TRUE(std::visit(captures, builder)) << row.reference_name;
    EXPECT_TRUE(buffers_refreshed_in_last_build(builder)) << row.reference_name;
  }
}

TEST(MetadataBuilders, AnUpdateTakesMetadataOfTheSameKind) {
  const Batch batch = make_batch({{6, 1}}, 6);
  const Ints table = {10, 11, 12};
  CommonAttentionMetadata of_other_group = batch.view();
  of_other_group.block_table_tensor = matrix_view(table.data(), 1, 3);
  auto mamba1 = metadata_builder_row(MambaType::mamba1).create(small_config(), {}).value();
  auto mamba2 = metadata_builder_row(MambaType::mamba2).create(small_config(), {}).value();
  auto gdn = metadata_builder_row(MambaType::gdn_attention).create(small_config(), {}).value();
  const auto metadata = build(mamba2, {.common = batch.view(), .split = {1, 0, 1, 0}}).value();
  const auto updated = update_block_table(mamba2, metadata, of_other_group, {});
  EXPECT_THAT(array_named(named_arrays(updated.value()), "state_indices_tensor_d").values,
              ElementsAre(11));
  EXPECT_FALSE(update_block_table(mamba1, metadata, of_other_group, {}).ok());
  EXPECT_FALSE(update_block_table(gdn, metadata, of_other_group, {}).ok());
  EXPECT_TRUE(supports_update_block_table(mamba1));
  EXPECT_TRUE(supports_update_block_table(mamba2));
  EXPECT_FALSE(supports_update_block_table(gdn));
}

TEST(NamedArrays, PointerArraysKeepOnlyTheirWrittenPart) {
  const Batch batch = make_batch({{0, 9}}, 6);
  auto builder = MambaMetadataBuilder::create(small_config()).value();
  const auto arrays =
      named_arrays(builder.build({.common = batch.view(), .split = {0, 1, 0, 9}}).value());
  const NamedArray& batch_ptr = array_named(arrays, "batch_ptr");
  EXPECT_THAT(batch_ptr.dims, ElementsAre(2048));
  EXPECT_THAT(batch_ptr.values, ElementsAre(0, 0));
  EXPECT_EQ(batch_ptr.fill, -1);
  EXPECT_EQ(array_named(arrays, "nums_dict.8.mlist").dtype, ArrayDtype::int64);
}

}  // namespace
}  // namespace hybridscope::metadata_builders_test
