// The metadata builders by kind of recurrent layer. A new builder needs its own unit, an
// alternative of MetadataBuilder and a row of the table. Each builder defines Metadata,
// kRowPartition and the replayed_arrays() of its graph; builder_metadata.h describes its metadata.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/metadata/builder_metadata.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/cudagraph_mode.h"
#include "core/metadata/gdn_builder.h"
#include "core/metadata/mamba2_builder.h"
#include "core/metadata/mamba_builder.h"
#include "core/metadata/mamba_builder_config.h"
#include "core/metadata/metadata_build_inputs.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

using MetadataBuilder =
    std::variant<MambaMetadataBuilder, Mamba2MetadataBuilder, GdnMetadataBuilder>;

struct MetadataBuilderRow {
  MambaType mamba_type = MambaType::mamba1;
  std::string_view reference_name;  // class in the reference
  AttentionCGSupport cg_support = AttentionCGSupport::uniform_batch;
  Result<MetadataBuilder> (*create)(const MambaBuilderConfig& config,
                                    const PolicySet& policies) = nullptr;
  BuilderMetadata (*empty_metadata)() = nullptr;  // every array absent
  // What a replay of the builder's captured graph reads. `num_spec`: K.
  std::span<const std::string_view> (*replayed_arrays)(MambaCacheMode mamba_cache_mode,
                                                       std::int32_t num_spec) = nullptr;
};

template <class Builder>
constexpr MetadataBuilderRow builder_row(MambaType type, std::string_view reference_name,
                                         AttentionCGSupport cg_support) {
  return {
      type,
      reference_name,
      cg_support,
      [](const MambaBuilderConfig& config, const PolicySet& policies) -> Result<MetadataBuilder> {
        auto builder = Builder::create(config, policies);
        if (!builder) return builder.error();
        return MetadataBuilder(std::move(builder).value());
      },
      [] { return BuilderMetadata(typename Builder::Metadata{}); },
      &Builder::replayed_arrays};
}

// linear_attention and short_conv have small builders of their own in the reference, with the split
// rule and the state indices of Mamba1 and no speculation: here they use the Mamba1 builder. KDA
// uses the GDN builder in the reference too. One row for each MambaType.
inline constexpr std::array kMetadataBuilders{
    builder_row<MambaMetadataBuilder>(MambaType::mamba1, "Mamba1AttentionMetadataBuilder",
                                      AttentionCGSupport::uniform_batch),
    builder_row<Mamba2MetadataBuilder>(MambaType::mamba2, "Mamba2AttentionMetadataBuilder",
                                       AttentionCGSupport::uniform_batch),
    builder_row<GdnMetadataBuilder>(MambaType::gdn_attention, "GDNAttentionMetadataBuilder",
                                    AttentionCGSupport::uniform_batch),
    builder_row<GdnMetadataBuilder>(MambaType::kda, "GDNAttentionMetadataBuilder",
                                    AttentionCGSupport::uniform_batch),
    builder_row<MambaMetadataBuilder>(MambaType::linear_attention, "LinearAttentionMetadataBuilder",
                                      AttentionCGSupport::uniform_single_token_decode),
    builder_row<MambaMetadataBuilder>(MambaType::short_conv, "ShortConvAttentionMetadataBuilder",
                                      AttentionCGSupport::uniform_batch)};

// The row of `type`.
const MetadataBuilderRow& metadata_builder_row(MambaType type);

// Errors and lifetimes are those of the builder held.
Result<BuilderMetadata> build(MetadataBuilder& builder, const MetadataBuildInputs& inputs);
// `metadata`: of another group; `common` has this group's block table. Also an error: metadata of
// another kind.
Result<BuilderMetadata> update_block_table(MetadataBuilder& builder,
                                           const BuilderMetadata& metadata,
                                           const CommonAttentionMetadata& common,
                                           const PolicySet& policies);

// On either runner. GDN: false, policy group_builds decides on V2.
bool supports_update_block_table(const MetadataBuilder& builder);
// Did the last build write every array that a replay of the builder's captured graph reads?
bool buffers_refreshed_in_last_build(const MetadataBuilder& builder);
// The arrays that a replay reads: persistent buffers by the reference's names.
std::span<const std::string_view> replayed_arrays(const MetadataBuilder& builder);
std::int32_t reorder_batch_threshold(const MetadataBuilder& builder);
RowPartition row_partition(const MetadataBuilder& builder);
// Do accepted counts reach the metadata? (Mamba1Counts)
bool takes_counts(const MetadataBuilder& builder, const PolicySet& policies);
// Metadata of the builder's kind, every array absent.
BuilderMetadata empty_metadata(const MetadataBuilder& builder);

}  // namespace hybridscope
