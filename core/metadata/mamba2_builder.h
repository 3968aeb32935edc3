// Metadata builder of Mamba2 layers: the Mamba1 metadata plus the chunks of the prefill rows
// (semantics: mamba2-builder; vLLM Mamba2AttentionMetadataBuilder).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/metadata/chunk_metadata.h"
#include "core/metadata/mamba_builder.h"
#include "core/metadata/mamba_builder_config.h"
#include "core/metadata/mamba_metadata.h"
#include "core/metadata/metadata_build_inputs.h"

namespace hybridscope {

// Same contract as MambaMetadataBuilder.
class Mamba2MetadataBuilder {
 public:
  using Metadata = Mamba2Metadata;
  static constexpr RowPartition kRowPartition = MambaMetadataBuilder::kRowPartition;
  static MambaBuildInputs inputs_of(const MetadataBuildInputs& inputs) {
    return MambaMetadataBuilder::inputs_of(inputs);
  }
  static std::span<const std::string_view> replayed_arrays(MambaCacheMode mamba_cache_mode,
                                                           std::int32_t num_spec) {
    return MambaMetadataBuilder::replayed_arrays(mamba_cache_mode, num_spec);
  }

  // Errors: chunk_size absent or below 1, and those of MambaMetadataBuilder.
  static Result<Mamba2MetadataBuilder> create(const MambaBuilderConfig& config,
                                              const PolicySet& policies = {});

  Result<Mamba2Metadata> build(const MambaBuildInputs& inputs);
  Result<Mamba2Metadata> build_for_cudagraph_capture(const CommonAttentionMetadata& common,
                                                     const PolicySet& policies = {});
  Result<Mamba2Metadata> update_block_table(const Mamba2Metadata& metadata,
                                            const TensorView<std::int32_t>& block_table,
                                            const PolicySet& policies = {});

  // The shared part: persistent buffers, thresholds.
  const MambaMetadataBuilder& base() const { return base_; }
  bool takes_counts(const PolicySet&) const { return true; }
  bool buffers_refreshed_in_last_build() const { return base_.buffers_refreshed_in_last_build(); }
  bool supports_update_block_table() const { return base_.supports_update_block_table(); }
  std::int32_t decode_cudagraph_max_bs() const { return base_.decode_cudagraph_max_bs(); }
  std::int32_t reorder_batch_threshold() const { return base_.reorder_batch_threshold(); }
  const MambaBuilderConfig& config() const { return base_.config(); }

 private:
  Mamba2MetadataBuilder(MambaMetadataBuilder base, std::int32_t chunk_size);

  Result<Mamba2Metadata> with_chunks(const CommonAttentionMetadata& common,
                                     const MambaMetadata& base);

  MambaMetadataBuilder base_;
  std::int32_t chunk_size_ = 1;
  Mamba2ChunkMetadataBuilder chunks_;
  CheckpointMetadataBuilder checkpoints_;
  std::vector<std::int32_t> num_computed_tokens_p_;  // [num_prefills]
};

}  // namespace hybridscope
