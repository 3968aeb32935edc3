// Metadata builder of Mamba1 layers, and the part that Mamba2 shares (semantics: mamba-builder;
// vLLM BaseMambaAttentionMetadataBuilder in mamba_attn.py).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/metadata/batch_split.h"
#include "core/metadata/block_table_gather.h"
#include "core/metadata/chunk_metadata.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/mamba_builder_config.h"
#include "core/metadata/mamba_decode_buffers.h"
#include "core/metadata/mamba_metadata.h"
#include "core/metadata/metadata_build_inputs.h"

namespace hybridscope {

enum class AllModeArrays : std::uint8_t;   // builder_policies.h
enum class PaddedRowClass : std::uint8_t;  // the same

struct MambaBuildInputs {
  CommonAttentionMetadata common{};
  BatchSplit split{};                              // which rows are decodes: decided by the caller
  TensorView<std::int32_t> num_accepted_tokens{};  // [num_reqs], absent: not given
  PolicySet policies{};
};

// The reference's classing of a Mamba1/2 batch: by query length, with reorder_batch_threshold when
// accepted counts are given, else 1 (semantics: mamba-builder). Errors: of
// split_decodes_and_prefills.
Result<BatchSplit> split_mamba_batch_by_shape(const CommonAttentionMetadata& common,
                                              std::int32_t reorder_batch_threshold,
                                              const TensorView<std::int32_t>& num_accepted_tokens);

struct MambaRowInput {
  std::int32_t reorder_batch_threshold = 1;
  TensorView<std::int32_t> num_accepted_tokens{};      // absent: not given
  TensorView<std::int32_t> num_decode_draft_tokens{};  // [num_reqs], -1: none; absent: not given
  PaddedRowClass padded_row_class{};                   // prefill
};

// A later classing: rows that are prefilling are prefills, but for rows of one token whose request
// has a state (semantics: mamba-short-extends), and PaddedRowClass. `prefilling` is storage of at
// least num_reqs elements. Errors: of split_decodes_and_prefills_v2, sizes that do not fit.
Result<BatchSplit> split_mamba_batch_by_prefilling(const CommonAttentionMetadata& common,
                                                   const MambaRowInput& input,
                                                   std::span<std::uint8_t> prefilling);

// Owns the persistent buffers of one KV-cache group and the scratch of its builds. Metadata points
// into them and into the caller's arrays, and is valid until the next call. A call that fails
// leaves the persistent buffers as they were. No heap allocation once the largest batch was seen.
class MambaMetadataBuilder {
 public:
  using Metadata = MambaMetadata;
  static constexpr RowPartition kRowPartition = RowPartition::decodes_then_prefills;
  static MambaBuildInputs inputs_of(const MetadataBuildInputs& inputs) {
    return {inputs.common, inputs.split, inputs.num_accepted_tokens, inputs.policies};
  }
  // Persistent buffers that a captured graph reads, by the reference's names.
  static std::span<const std::string_view> replayed_arrays(MambaCacheMode mamba_cache_mode,
                                                           std::int32_t num_spec);

  // AllModeArrays of `policies` holds for good: the buffers have its size. Errors: those of
  // check_config.
  static Result<MambaMetadataBuilder> create(const MambaBuilderConfig& config,
                                             const PolicySet& policies = {});

  // Errors: arrays or split that do not fit num_reqs; K > 0, decode rows and no accepted counts, if
  // MissingCounts::refused; a block column outside the table; in the graph branch a table of
  // another width than the persistent one (a single column is broadcast).
  Result<MambaMetadata> build(const MambaBuildInputs& inputs);

  // Metadata of a capture: the batch is classed by shape, accepted counts are the query lengths.
  // Errors: more rows than decode_cudagraph_max_bs, max_query_len other than 1 + K, and of build.
  Result<MambaMetadata> build_for_cudagraph_capture(const CommonAttentionMetadata& common,
                                                    const PolicySet& policies = {});

  // What Mamba2 builds upon: accepted counts are taken, and there are no chunks.
  Result<MambaMetadata> build_shared(const MambaBuildInputs& inputs);
  // What a capture builds from. Errors: those of a capture.
  Result<MambaBuildInputs> capture_inputs(const CommonAttentionMetadata& common, bool takes_counts,
                                          const PolicySet& policies);

  // Returns `metadata` of this or another builder with the block table of this builder's group:
  // int32 [num_reqs, columns]. Errors: another number of rows, and those of build's graph branch.
  Result<MambaMetadata> update_block_table(const MambaMetadata& metadata,
                                           const TensorView<std::int32_t>& block_table,
                                           const PolicySet& policies = {});

  // Did the last call write the persistent buffers (take the CUDA graph branch)? If not, a replay
  // would read what an earlier call left there.
  bool buffers_refreshed_in_last_build() const { return refreshed_; }

  // Does it take accepted counts? If not, the caller gives none, and splits without them.
  bool takes_counts(const PolicySet& policies) const;

  // What a replay reads.
  MambaPersistentViews persistent_views() const { return buffers_.views(); }

  const MambaBuilderConfig& config() const { return config_; }
  std::int32_t decode_cudagraph_max_bs() const { return decode_cudagraph_max_bs_; }
  std::int32_t reorder_batch_threshold() const { return reorder_batch_threshold_; }
  // May metadata of an equal group be reused through update_block_table? Not under speculation.
  bool supports_update_block_table() const { return config_.num_spec == 0; }

 private:
  MambaMetadataBuilder(const MambaBuilderConfig& config, AllModeArrays all_mode_arrays);

  bool all_mode() const { return config_.mamba_cache_mode == MambaCacheMode::all; }
  bool takes_graph_branch(const MambaMetadata& metadata) const;
  Result<BlockTableWindow> find_window(const TensorView<std::int32_t>& block_table,
                                       std::span<const std::int32_t> seq_lens);
  void set_block_indices(const CommonAttentionMetadata& common, MambaMetadata& metadata);
  Status set_decode_counts(const MambaBuildInputs& inputs, MambaMetadata& metadata);
  void count_state_writes(const CommonAttentionMetadata& common, MambaMetadata& metadata) const;
  Status set_chunks(MambaMetadata& metadata);
  Status set_prefill_fields(const CommonAttentionMetadata& common, MambaMetadata& metadata);
  Status set_state_indices(const BlockTableWindow& window, const PolicySet& policies,
                           MambaMetadata& metadata);

  MambaBuilderConfig config_;
  AllModeArrays all_mode_arrays_;
  BlockTableGatherConfig gather_;
  std::int32_t decode_cudagraph_max_bs_ = 0;
  std::int32_t reorder_batch_threshold_ = 1;
  bool refreshed_ = false;

  MambaDecodeBuffers buffers_;
  CausalConv1dMetadataBuilder conv1d_;
  Mamba2ChunkMetadataBuilder chunks_;
  std::vector<std::int32_t> starts_;                 // [num_reqs]
  std::vector<std::int32_t> scratch_d_;              // state_indices_tensor_d, not graph branch
  std::vector<std::int32_t> scratch_p_;              // state_indices_tensor_p
  std::vector<std::int32_t> query_start_loc_p_;      // [num_prefills + 1]
  std::vector<std::uint8_t> has_initial_states_p_;   // [num_prefills]
  std::vector<std::int32_t> num_computed_tokens_p_;  // [num_prefills]
  std::vector<std::int32_t> query_lens_d_;           // [num_decodes] MissingCounts::query_lengths
  std::vector<std::int32_t> block_idx_last_scheduled_scratch_;   // [num_reqs]
  std::vector<std::int32_t> block_idx_last_computed_scratch_;    // [num_reqs]
  std::vector<std::int32_t> block_idx_first_scheduled_scratch_;  // [num_reqs]
  std::vector<std::int32_t> capture_num_accepted_tokens_;        // [num_reqs]
};

}  // namespace hybridscope
