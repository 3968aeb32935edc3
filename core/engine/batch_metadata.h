// Makes common metadata, the graph dispatch and every group's metadata from a batch's rows
// (semantics: common-attention-metadata, draft-and-accepted-counts, cudagraph-dispatch): the part
// of a runner that does not depend on where its rows come from. Both runners use it, and so does
// the judge of another engine's rows; EngineConfig::runner selects the rules of dispatch and of
// building.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/engine/block_table.h"
#include "core/engine/engine_config.h"
#include "core/metadata/capture_sizes.h"
#include "core/metadata/metadata_builders.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

enum class RowClassing : std::uint8_t;  // batch_metadata_policies.h

// Columns of a group's block table in the worker: those for max_model_len and those for drafts.
std::int32_t block_table_columns(const EngineConfig& config, const KVCacheGroup& group);
std::vector<std::int32_t> block_table_columns(const EngineConfig& config);  // [groups]

// The states that rows store inside their chunks, as a trace gave them.
struct GivenCheckpoints {
  std::vector<std::int32_t> positions;  // [rows] tokens before the state; 0: the row stores none
  std::vector<std::int32_t> columns;    // [rows] of the block table; -1: the row stores none
};

// It keeps no settings: each call is given those of the engine, whose policies may differ from the
// last call's.
class BatchMetadata {
 public:
  // Errors: settings the metadata builders or the graph resolution refuse.
  static Result<BatchMetadata> create(const EngineConfig& config);

  // Fills uniform_decode, graph and common of a trace whose scheduled and rows are filled; nulls
  // the padding rows of `tables` ([groups]). The views stay valid until the next call. Errors:
  // capture sizes that no uniform decode fits (an assert of the reference).
  Status dispatch(const EngineConfig& config, StepTrace& trace, std::span<BlockTable> tables);
  // Pads the batch as dispatch() does, to a graph that is given. Requires: it holds the batch.
  void dispatch_as(const EngineConfig& config, StepTrace& trace, const CudagraphDispatch& graph,
                   std::span<BlockTable> tables);

  // Fills groups of a trace after dispatch (and pre-copies, which change accepted counts):
  // block tables, attention writes and each mamba group's metadata. `remembered_columns`: mode all
  // with drafts, [rows] last scheduled column of the row's previous step, -1: none; else empty.
  // Error: the first refusal of a builder; a group that is refused lacks metadata, all else is
  // filled.
  Status build(const EngineConfig& config, StepTrace& trace, std::span<const BlockTable> tables,
               std::span<const std::int32_t> remembered_columns);

  // The states that the rows of the next dispatch store inside their chunks, instead of what policy
  // checkpoint_writes says.
  void give_checkpoints(GivenCheckpoints checkpoints) {
    given_checkpoints_ = std::move(checkpoints);
  }

  // Metadata of the kind that the group's builder makes, every array absent. Requires: a mamba
  // group.
  BuilderMetadata empty_metadata(std::int32_t group) const;

  const CudagraphResolution& cudagraphs() const { return cudagraphs_; }
  bool has_mamba() const { return !builders_.empty(); }
  std::int32_t mamba_block_size() const { return mamba_block_size_; }
  // Smallest threshold of the builders (semantics: reorder-batch); 1 without builders.
  std::int32_t reorder_batch_threshold() const { return reorder_batch_threshold_; }

 private:
  explicit BatchMetadata(CudagraphResolution cudagraphs);
  Status add_builder(const EngineConfig& config, const MambaSpec& spec);
  void place_rows(const StepTrace& trace);
  void pad(const EngineConfig& config, StepTrace& trace, std::span<BlockTable> tables);
  void fill_rows(const StepTrace& trace);
  Status build_mamba_group(const EngineConfig& config, StepTrace& trace, std::size_t group);
  Result<MetadataBuildInputs> build_inputs(const EngineConfig& config, const StepTrace& trace,
                                           std::size_t group);
  void fill_source_columns(const EngineConfig& config, const StepTrace& trace,
                           std::span<const std::int32_t> remembered_columns);
  Result<CudagraphDispatch> dispatch_runner(const EngineConfig& config, StepTrace& trace) const;
  Result<BatchSplit> split_rows(const EngineConfig& config, const MetadataBuildInputs& inputs,
                                std::int32_t threshold, const TensorView<std::int32_t>& drafts);
  std::span<const RowClass> classes_to_split(const PolicySet& policies);
  Result<GdnRowClasses> gdn_classes(const EngineConfig& config,
                                    const CommonAttentionMetadata& common,
                                    const TensorView<std::int32_t>& drafts);

  CudagraphResolution cudagraphs_;
  std::vector<MetadataBuilder> builders_;       // mamba groups in order
  std::vector<std::int32_t> builder_of_group_;  // [groups] -1: attention
  std::int32_t mamba_block_size_ = 0;
  std::int32_t reorder_batch_threshold_ = 1;

  // The members below belong to the current step.
  std::int32_t max_query_len_ = 0;
  std::vector<std::int32_t> query_start_loc_;          // [num_reqs + 1]
  std::vector<std::int32_t> seq_lens_;                 // [num_reqs]
  std::vector<std::uint8_t> is_prefilling_;            // [num_reqs]
  std::vector<std::int32_t> checkpoint_positions_;     // [num_reqs]
  std::vector<std::int32_t> checkpoint_columns_;       // [num_reqs] if given, else empty
  std::optional<GivenCheckpoints> given_checkpoints_;  // of the next dispatch
  std::vector<std::int32_t> num_accepted_tokens_;      // [num_reqs]
  std::vector<std::int32_t> num_draft_counts_;         // [num_reqs]
  std::vector<RowClass> row_classes_;                  // [num_reqs]
  std::vector<RowClass> classes_to_split_;      // [num_reqs] rows after the first prefill: prefill
  std::vector<std::uint8_t> split_prefilling_;  // [num_reqs] V2, rows split by shape
  std::vector<std::uint8_t> gdn_masks_;         // [num_reqs]
  std::vector<std::int32_t> swapped_tokens_;    // GdnTokenPartition::unstable
  std::vector<std::int32_t> temporal_source_column_;
  std::vector<std::int32_t> conv_source_column_;
};

// What makes a row a decode (RowClassing): c = 0 and prompt rows are prefills; by meaning, one
// non-draft token is left to compute; by shape, at most 1 + K tokens (semantics: row-class).
RowClass row_class_of(const ScheduledTrace& scheduled, RowClassing classing,
                      std::int32_t num_speculative_tokens);

// slot_mapping, run by run: tokens at positions c .. c + q - 1 (semantics: attention-slots).
void fill_attention_writes(const StepTrace& trace, const BlockTable& table, GroupTrace& group);

}  // namespace hybridscope
