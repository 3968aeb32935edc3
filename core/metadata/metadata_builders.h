// The table of metadata builders by kind of recurrent layer. A new builder is one unit and one row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/metadata/batch_split.h"
#include "core/metadata/builder_metadata.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/cudagraph_mode.h"
#include "core/metadata/gdn_builder.h"
#include "core/metadata/gdn_row_classes.h"
#include "core/metadata/mamba2_builder.h"
#include "core/metadata/mamba_builder.h"
#include "core/metadata/mamba_builder_config.h"
#include "core/metadata/named_arrays.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

using MetadataBuilder =
    std::variant<MambaMetadataBuilder, Mamba2MetadataBuilder, GdnMetadataBuilder>;

// Inputs of any builder; each reads what it needs.
struct MetadataBuildInputs {
  CommonAttentionMetadata common{};
  TensorView<std::int32_t> num_accepted_tokens{};  // [num_reqs], absent: not given
  BatchSplit split{};                              // Mamba1, Mamba2
  GdnRowClasses gdn_row_classes{};                 // GDN
};

struct MetadataBuilderRow {
  MambaType mamba_type = MambaType::mamba1;
  std::string_view reference_name;  // class in the reference
  AttentionCGSupport cg_support = AttentionCGSupport::uniform_batch;
  Result<MetadataBuilder> (*create)(const MambaBuilderConfig& config) = nullptr;
};

// One row for each MambaType.
std::span<const MetadataBuilderRow> metadata_builders();

// The row of `type`.
const MetadataBuilderRow& metadata_builder_row(MambaType type);

// Errors and lifetimes are those of the builder held.
Result<BuilderMetadata> build(MetadataBuilder& builder, const MetadataBuildInputs& inputs);
Result<BuilderMetadata> build_for_cudagraph_capture(MetadataBuilder& builder,
                                                    const CommonAttentionMetadata& common);
// Also an error: a GDN builder, or metadata of another kind.
Result<BuilderMetadata> update_block_table(MetadataBuilder& builder,
                                           const BuilderMetadata& metadata,
                                           const TensorView<std::int32_t>& block_table);

bool supports_update_block_table(const MetadataBuilder& builder);
// Did the last build write every array that a replay of the builder's captured graph reads?
bool buffers_refreshed_in_last_build(const MetadataBuilder& builder);
// Those arrays: persistent buffers by the reference's names. A GDN graph is captured from spec rows
// when K > 0, else from plain decode rows (RUNNER 4.6).
std::span<const std::string_view> replayed_arrays(const MetadataBuilder& builder);
// The same of the builder that layers of this kind get. `num_spec`: K.
std::span<const std::string_view> replayed_arrays(MambaType type, MambaCacheMode mamba_cache_mode,
                                                  std::int32_t num_spec);
std::int32_t reorder_batch_threshold(const MetadataBuilder& builder);

std::vector<NamedArray> named_arrays(const BuilderMetadata& metadata);

}  // namespace hybridscope
