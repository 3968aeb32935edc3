#include "core/metadata/metadata_builders.h"

#include <algorithm>
#include <type_traits>

namespace hybridscope {
namespace {

// What update_block_table of a builder takes: the Mamba builders keep the lengths of the rows in
// their metadata, the GDN builder does not.
template <class Builder>
concept TakesBlockTable = requires(Builder& builder, const typename Builder::Metadata& metadata,
                                   const TensorView<std::int32_t>& block_table) {
  builder.update_block_table(metadata, block_table);
};

// Not on both runners: only they can say that they may be asked.
template <class Builder>
concept SaysWhetherItUpdates = requires(const Builder& builder) {
  builder.supports_update_block_table();
};

template <class Metadata>
Result<BuilderMetadata> widen(const Result<Metadata>& metadata) {
  if (!metadata) return metadata.error();
  return BuilderMetadata(metadata.value());
}

}  // namespace

const MetadataBuilderRow& metadata_builder_row(MambaType type) {
  const auto row =
      std::find_if(kMetadataBuilders.begin(), kMetadataBuilders.end(),
                   [type](const MetadataBuilderRow& r) { return r.mamba_type == type; });
  HS_EXPECT(row != kMetadataBuilders.end());
  return *row;
}

Result<BuilderMetadata> build(MetadataBuilder& builder, const MetadataBuildInputs& inputs) {
  return std::visit([&](auto& own) { return widen(own.build(own.inputs_of(inputs))); }, builder);
}

Result<BuilderMetadata> update_block_table(MetadataBuilder& builder,
                                           const BuilderMetadata& metadata,
                                           const CommonAttentionMetadata& common,
                                           const PolicySet& policies) {
  return std::visit(
      [&](auto& own) -> Result<BuilderMetadata> {
        using Builder = std::remove_reference_t<decltype(own)>;
        const auto* other = std::get_if<typename Builder::Metadata>(&metadata);
        if (other == nullptr) return invalid_input("metadata of another builder kind");
        if constexpr (TakesBlockTable<Builder>)
          return widen(own.update_block_table(*other, common.block_table_tensor, policies));
        else
          return widen(own.update_block_table(*other, common));
      },
      builder);
}

bool supports_update_block_table(const MetadataBuilder& builder) {
  return std::visit(
      [](const auto& own) {
        if constexpr (SaysWhetherItUpdates<std::remove_cvref_t<decltype(own)>>)
          return own.supports_update_block_table();
        else
          return false;
      },
      builder);
}

bool buffers_refreshed_in_last_build(const MetadataBuilder& builder) {
  return std::visit([](const auto& own) { return own.buffers_refreshed_in_last_build(); }, builder);
}

std::span<const std::string_view> replayed_arrays(const MetadataBuilder& builder) {
  return std::visit(
      [](const auto& own) {
        return own.replayed_arrays(own.config().mamba_cache_mode, own.config().num_spec);
      },
      builder);
}

std::int32_t reorder_batch_threshold(const MetadataBuilder& builder) {
  return std::visit([](const auto& own) { return own.reorder_batch_threshold(); }, builder);
}

RowPartition row_partition(const MetadataBuilder& builder) {
  return std::visit([](const auto& own) { return own.kRowPartition; }, builder);
}

bool takes_counts(const MetadataBuilder& builder, const PolicySet& policies) {
  return std::visit([&](const auto& own) { return own.takes_counts(policies); }, builder);
}

BuilderMetadata empty_metadata(const MetadataBuilder& builder) {
  return std::visit(
      [](const auto& own) -> BuilderMetadata {
        return typename std::remove_cvref_t<decltype(own)>::Metadata{};
      },
      builder);
}

}  // namespace hybridscope
