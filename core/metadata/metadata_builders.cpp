#include "core/metadata/metadata_builders.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/base/check.h"

namespace hybridscope {
namespace {

template <class Builder>
Result<MetadataBuilder> create_builder(const MambaBuilderConfig& config) {
  auto builder = Builder::create(config);
  if (!builder) return builder.error();
  return MetadataBuilder(std::move(builder).value());
}

// linear_attention and short_conv have small builders of their own in the reference, with the split
// rule and the state indices of Mamba1 and no speculation: the Mamba1 builder stands for them. KDA
// uses the GDN builder there as well.
constexpr std::array<MetadataBuilderRow, 6> kBuilders{{
    {MambaType::mamba1, "Mamba1AttentionMetadataBuilder", AttentionCGSupport::uniform_batch,
     &create_builder<MambaMetadataBuilder>},
    {MambaType::mamba2, "Mamba2AttentionMetadataBuilder", AttentionCGSupport::uniform_batch,
     &create_builder<Mamba2MetadataBuilder>},
    {MambaType::gdn_attention, "GDNAttentionMetadataBuilder", AttentionCGSupport::uniform_batch,
     &create_builder<GdnMetadataBuilder>},
    {MambaType::kda, "GDNAttentionMetadataBuilder", AttentionCGSupport::uniform_batch,
     &create_builder<GdnMetadataBuilder>},
    {MambaType::linear_attention, "LinearAttentionMetadataBuilder",
     AttentionCGSupport::uniform_single_token_decode, &create_builder<MambaMetadataBuilder>},
    {MambaType::short_conv, "ShortConvAttentionMetadataBuilder", AttentionCGSupport::uniform_batch,
     &create_builder<MambaMetadataBuilder>},
}};

template <class Metadata>
Result<BuilderMetadata> widen(const Result<Metadata>& metadata) {
  if (!metadata) return metadata.error();
  return BuilderMetadata(metadata.value());
}

MambaBuildInputs inputs_of(const MambaMetadataBuilder&, const MetadataBuildInputs& inputs) {
  return {inputs.common, inputs.split, inputs.num_accepted_tokens};
}
MambaBuildInputs inputs_of(const Mamba2MetadataBuilder&, const MetadataBuildInputs& inputs) {
  return {inputs.common, inputs.split, inputs.num_accepted_tokens};
}
GdnBuildInputs inputs_of(const GdnMetadataBuilder&, const MetadataBuildInputs& inputs) {
  return {inputs.common, inputs.num_accepted_tokens, inputs.gdn_row_classes};
}

template <class Builder, class Metadata>
Result<BuilderMetadata> update_as(Builder& builder, const BuilderMetadata& metadata,
                                  const TensorView<std::int32_t>& block_table) {
  const auto* own = std::get_if<Metadata>(&metadata);
  if (own == nullptr) return invalid_input("metadata of another builder kind");
  return widen(builder.update_block_table(*own, block_table));
}

}  // namespace

std::span<const MetadataBuilderRow> metadata_builders() { return kBuilders; }

const MetadataBuilderRow& metadata_builder_row(MambaType type) {
  const auto row =
      std::find_if(kBuilders.begin(), kBuilders.end(),
                   [type](const MetadataBuilderRow& r) { return r.mamba_type == type; });
  HS_EXPECT(row != kBuilders.end());
  return *row;
}

Result<BuilderMetadata> build(MetadataBuilder& builder, const MetadataBuildInputs& inputs) {
  return std::visit([&](auto& b) { return widen(b.build(inputs_of(b, inputs))); }, builder);
}

Result<BuilderMetadata> build_for_cudagraph_capture(MetadataBuilder& builder,
                                                    const CommonAttentionMetadata& common) {
  return std::visit([&](auto& b) { return widen(b.build_for_cudagraph_capture(common)); }, builder);
}

Result<BuilderMetadata> update_block_table(MetadataBuilder& builder,
                                           const BuilderMetadata& metadata,
                                           const TensorView<std::int32_t>& block_table) {
  if (auto* mamba = std::get_if<MambaMetadataBuilder>(&builder))
    return update_as<MambaMetadataBuilder, MambaMetadata>(*mamba, metadata, block_table);
  if (auto* mamba2 = std::get_if<Mamba2MetadataBuilder>(&builder))
    return update_as<Mamba2MetadataBuilder, Mamba2Metadata>(*mamba2, metadata, block_table);
  return invalid_input("a GDN builder cannot take over metadata of another group");
}

bool supports_update_block_table(const MetadataBuilder& builder) {
  if (const auto* mamba = std::get_if<MambaMetadataBuilder>(&builder))
    return mamba->supports_update_block_table();
  if (const auto* mamba2 = std::get_if<Mamba2MetadataBuilder>(&builder))
    return mamba2->base().supports_update_block_table();
  return false;
}

bool buffers_refreshed_in_last_build(const MetadataBuilder& builder) {
  if (const auto* gdn = std::get_if<GdnMetadataBuilder>(&builder)) {
    using Refreshed = GdnMetadataBuilder::Refreshed;
    const Refreshed captured = gdn->config().num_spec > 0 ? Refreshed::spec : Refreshed::non_spec;
    return gdn->refreshed_in_last_build() == captured;
  }
  if (const auto* mamba2 = std::get_if<Mamba2MetadataBuilder>(&builder))
    return mamba2->buffers_refreshed_in_last_build();
  return std::get<MambaMetadataBuilder>(builder).buffers_refreshed_in_last_build();
}

namespace {

std::span<const std::string_view> gdn_replayed_arrays(std::int32_t num_spec) {
  static constexpr std::array<std::string_view, 5> kSpec = {
      "spec_state_indices_tensor", "spec_sequence_masks", "spec_token_indx", "spec_query_start_loc",
      "num_accepted_tokens"};
  static constexpr std::array<std::string_view, 2> kNonSpec = {"non_spec_state_indices_tensor",
                                                               "non_spec_query_start_loc"};
  if (num_spec > 0) return kSpec;
  return kNonSpec;
}

std::span<const std::string_view> mamba_replayed_arrays(MambaCacheMode mamba_cache_mode,
                                                        std::int32_t num_spec) {
  static constexpr std::array<std::string_view, 4> kAll = {
      "state_indices_tensor_d", "block_idx_last_scheduled_token", "block_idx_last_computed_token",
      "num_accepted_tokens"};
  static constexpr std::array<std::string_view, 2> kOther = {"state_indices_tensor_d",
                                                             "num_accepted_tokens"};
  const std::span<const std::string_view> arrays = mamba_cache_mode == MambaCacheMode::all
                                                       ? std::span<const std::string_view>(kAll)
                                                       : std::span<const std::string_view>(kOther);
  return num_spec > 0 ? arrays : arrays.first(arrays.size() - 1);
}

}  // namespace

std::span<const std::string_view> replayed_arrays(const MetadataBuilder& builder) {
  if (const auto* gdn = std::get_if<GdnMetadataBuilder>(&builder))
    return gdn_replayed_arrays(gdn->config().num_spec);
  const auto* mamba2 = std::get_if<Mamba2MetadataBuilder>(&builder);
  const MambaBuilderConfig& config = mamba2 != nullptr
                                         ? mamba2->base().config()
                                         : std::get<MambaMetadataBuilder>(builder).config();
  return mamba_replayed_arrays(config.mamba_cache_mode, config.num_spec);
}

std::span<const std::string_view> replayed_arrays(MambaType type, MambaCacheMode mamba_cache_mode,
                                                  std::int32_t num_spec) {
  return type == MambaType::gdn_attention || type == MambaType::kda
             ? gdn_replayed_arrays(num_spec)
             : mamba_replayed_arrays(mamba_cache_mode, num_spec);
}

std::int32_t reorder_batch_threshold(const MetadataBuilder& builder) {
  if (const auto* mamba2 = std::get_if<Mamba2MetadataBuilder>(&builder))
    return mamba2->base().reorder_batch_threshold();
  if (const auto* gdn = std::get_if<GdnMetadataBuilder>(&builder))
    return gdn->reorder_batch_threshold();
  return std::get<MambaMetadataBuilder>(builder).reorder_batch_threshold();
}

std::vector<NamedArray> named_arrays(const BuilderMetadata& metadata) {
  return std::visit([](const auto& m) { return named_arrays(m); }, metadata);
}

}  // namespace hybridscope
