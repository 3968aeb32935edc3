// Metadata builder of GatedDeltaNet layers (semantics: gdn-builder; vLLM
// GDNAttentionMetadataBuilder).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/metadata/block_table_gather.h"
#include "core/metadata/chunk_metadata.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/gdn_decode_buffers.h"
#include "core/metadata/gdn_metadata.h"
#include "core/metadata/mamba_builder_config.h"
#include "core/metadata/metadata_build_inputs.h"

namespace hybridscope {

// Same contract as MambaMetadataBuilder: metadata is valid until the next call, a failed call
// leaves the persistent buffers alone, no heap allocation in steady state.
class GdnMetadataBuilder {
 public:
  using Metadata = GdnMetadata;
  static constexpr RowPartition kRowPartition = RowPartition::spec_and_non_spec;
  static GdnBuildInputs inputs_of(const MetadataBuildInputs& inputs) {
    return {inputs.common, inputs.num_accepted_tokens, inputs.gdn_row_classes, inputs.policies};
  }
  // As in MambaMetadataBuilder. The graph is captured from spec rows when K > 0, else from plain
  // decode rows (semantics: mamba-capture, gdn-capture).
  static std::span<const std::string_view> replayed_arrays(MambaCacheMode mamba_cache_mode,
                                                           std::int32_t num_spec);

  // Errors: those of check_config.
  static Result<GdnMetadataBuilder> create(const MambaBuilderConfig& config,
                                           const PolicySet& policies = {});

  // Errors: arrays that do not fit num_reqs (rows of the block table: in the graph branches and in
  // a spec batch only, as in the reference); a spec batch without accepted counts; a block column
  // outside the table; a table narrower than 1 + K (and not one column) in the spec graph branch;
  // an empty batch with full graphs on.
  Result<GdnMetadata> build(const GdnBuildInputs& inputs);

  // The metadata of another group of this spec with this group's states, read from the block table
  // of `common`; all other arrays stay views of the other group's (runner V2; vLLM
  // GDNAttentionMetadataBuilder.update_block_table). Errors: a table without a row for each
  // request, or without the columns.
  Result<GdnMetadata> update_block_table(const GdnMetadata& metadata,
                                         const CommonAttentionMetadata& common);

  // Metadata of a capture: accepted counts are the query lengths, draft counts one less, classed
  // by classify_gdn_rows_by_drafts. Errors: more rows or tokens than decode_cudagraph_max_bs;
  // those of build.
  Result<GdnMetadata> build_for_cudagraph_capture(const CommonAttentionMetadata& common,
                                                  const PolicySet& policies = {});

  // Did the last call write the persistent buffers that the captured graph reads? Only the taken
  // branch writes its own.
  bool buffers_refreshed_in_last_build() const {
    return refreshed_ == (config_.num_spec > 0 ? Refreshed::spec : Refreshed::non_spec);
  }

  bool takes_counts(const PolicySet&) const { return true; }

  // What a replay reads.
  GdnPersistentViews persistent_views() const { return buffers_.views(); }

  const MambaBuilderConfig& config() const { return config_; }
  std::int32_t decode_cudagraph_max_bs() const { return decode_cudagraph_max_bs_; }
  std::int32_t reorder_batch_threshold() const { return reorder_batch_threshold_; }

 private:
  explicit GdnMetadataBuilder(const MambaBuilderConfig& config);

  Result<GdnMetadata> build_spec(const GdnBuildInputs& inputs, const BlockTableWindow& window);
  Result<GdnMetadata> build_non_spec(const GdnBuildInputs& inputs, const BlockTableWindow& window);
  Status finish_pure_spec(const GdnBuildInputs& inputs, const BlockTableWindow& window,
                          GdnMetadata& metadata);
  Status finish_mixed_spec(const GdnBuildInputs& inputs, const BlockTableWindow& window,
                           GdnMetadata& metadata);
  Status update_spec_states(const BlockTableWindow& window, GdnMetadata& metadata);
  Status update_non_spec_states(const BlockTableWindow& window, GdnMetadata& metadata);
  void set_spec_rows(const GdnBuildInputs& inputs, const BlockTableWindow& window,
                     GdnMetadata& metadata);
  void set_mixed_token_indices(const GdnBuildInputs& inputs, GdnMetadata& metadata);
  Status set_prefill_fields(const GdnBuildInputs& inputs,
                            std::span<const std::int32_t> non_spec_query_start_loc,
                            GdnMetadata& metadata);
  void set_prefill_rows(GdnMetadata& metadata);

  MambaBuilderConfig config_;
  BlockTableGatherConfig gather_;
  std::int32_t decode_cudagraph_max_bs_ = 0;
  std::int32_t reorder_batch_threshold_ = 1;
  enum class Refreshed : std::uint8_t { none, spec, non_spec };
  Refreshed refreshed_ = Refreshed::none;
  GdnDecodeBuffers buffers_;

  CausalConv1dMetadataBuilder conv1d_;
  FlaChunkBuilder fla_chunks_;
  CheckpointMetadataBuilder checkpoints_;
  std::vector<std::int32_t> starts_;                    // [num_reqs]
  std::vector<std::int32_t> spec_state_indices_;        // [num_spec_decodes, width]
  std::vector<std::int32_t> non_spec_state_indices_;    // [non-spec rows]
  std::vector<std::int32_t> spec_query_start_loc_;      // [num_spec_decodes + 1]
  std::vector<std::int32_t> non_spec_query_start_loc_;  // [non-spec rows + 1]
  std::vector<std::int32_t> prefill_query_start_loc_;   // [non-spec rows behind decodes + 1]
  std::vector<std::int32_t> accepted_;                  // [num_spec_decodes]
  std::vector<std::uint8_t> has_initial_state_;         // [non-spec rows]
  std::vector<std::int32_t> spec_tokens_;               // [spec tokens]
  std::vector<std::int32_t> non_spec_tokens_;           // [non-spec tokens]
  std::vector<std::int32_t> capture_counts_;            // [2 * num_reqs]
  std::vector<std::uint8_t> capture_masks_;             // [num_reqs]
};

}  // namespace hybridscope
