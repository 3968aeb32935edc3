// Turns one step of another engine's trace into a StepTrace, so that it can be executed and checked
// like a step of our engine. What the line leaves out is computed, and counted.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/engine/batch_metadata.h"
#include "core/engine/copy_rows.h"
#include "core/state/mamba_state_idx.h"
#include "core/trace/step_trace.h"
#include "sessions/judge/foreign_block_tables.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

// Runner V2: the request that each of the worker's slots belongs to (semantics: request-slots).
class ForeignSlots {
 public:
  explicit ForeignSlots(std::int32_t max_num_seqs);

  // Frees the slot of a request that finished, lost its blocks or is admitted again.
  void free(RequestId request);

  // A row of `request` uses `slot` in this step. Returns the request whose content the slot holds:
  // `request` itself if it got the slot when it was free and kept it since; otherwise another live
  // request, or none (-1). An admitted request owns the slot afterwards.
  RequestId use(RequestId request, std::int32_t slot, bool admitted);

 private:
  std::vector<RequestId> owners_;      // [max_num_seqs] -1: free
  std::vector<std::int32_t> slot_of_;  // by request id, -1: none
};

// What a line may leave out (docs/trace-format.md), so that we compute it.
enum class Computed : std::uint8_t {
  num_cached_block,
  worker_block_ids,
  preprocess_copies,
  postprocess_copies,
  cudagraph,
  attn_metadata,
};
inline constexpr std::size_t kNumComputed = 6;
std::string_view computed_name(Computed what);

// What one step sampled, until the frame returns to the scheduler.
struct ForeignFrame {
  struct Row {
    RequestId request;
    std::int32_t run = 0;
    std::int32_t num_draft_tokens = 0;
    std::int32_t num_sampled_tokens = 0;
  };
  std::int64_t step = 0;  // 0: no frame
  std::vector<Row> rows;  // [scheduled]
};

class ForeignImporter {
 public:
  // Errors: what the metadata builders, the graph resolution or the coordinator refuse; block
  // tables with more than 2^28 entries.
  static Result<ForeignImporter> create(const ForeignHeader& header);

  // Valid until the next call. Requires: the reader accepted the step. Errors: a traced graph that
  // is too small for the batch; traced metadata whose shape differs from its builder's; a copy of a
  // block, or a state inside a prefill, that contradicts the block tables.
  Result<const StepTrace*> import(const ForeignStep& step);

  // The number of steps in which this was computed.
  std::int64_t num_computed(Computed what) const {
    return num_computed_[static_cast<std::size_t>(what)];
  }
  const EngineConfig& config() const { return config_; }
  // The metadata of the last step that the trace lacks and that does not follow from its release,
  // "attn_metadata/1/seq_lens", "attn_metadata/1" for a whole group; empty: none.
  const std::string& untold_metadata() const { return untold_metadata_; }
  // A field of the last step about states inside prefills that the trace lacks, where it has the
  // others; empty: none.
  const std::string& untold_checkpoints() const { return untold_checkpoints_; }
  // Does what the trace tells of the last step's metadata contradict the states inside prefills
  // that were computed?
  bool contradicts_checkpoints() const { return contradicts_checkpoints_; }
  // Behind the last step: has the block a hash, as far as the trace tells?
  bool has_hash(std::int32_t block) const { return tables_.has_hash(block); }
  // A block that the last step hit and of which the trace tells no hash; 0: none.
  std::int32_t hit_without_hash() const { return tables_.hit_without_hash(); }
  // The scheduler's tables after the last step.
  const BlockTableMirror& tables() const { return tables_.tables(); }
  // A token of a request; past its known ones, or of a request that left, one that nobody has.
  TokenContent token(RequestId request, std::int32_t position) const;

 private:
  ForeignImporter(const ForeignHeader& header, BatchMetadata metadata, ForeignBlockTables tables);

  // foreign_importer.cpp
  void forget(const ForeignStep& step);
  void admit(const ForeignStep& step);
  void schedule(const ForeignStep& step);
  void describe_hits();
  Status describe_checkpoints(const ForeignStep& step);
  void give_checkpoints(const ForeignStep& step);
  ScheduledTrace& scheduled_of(RequestId id);
  void begin_run(RequestId id);
  void leave_run(RequestId id);
  void complete(RequestId id, std::int32_t num_computed_tokens, Admission admission);
  void count_scheduled();
  Status prepare(const ForeignStep& step);

  // foreign_rows.cpp: outputs
  void leave_runs(const ForeignStep& step);
  void take_output(const ForeignStep& step);
  // registers: blocks get their hashes by our rule.
  void commit(const ForeignFrame& frame, bool registers);
  CommitTrace commit_row(const ForeignFrame::Row& row, bool registers);
  CommitOutcome take_row(ForeignRequest& request, const ForeignFrame::Row& row, bool registers);
  void take_told_counts(const ForeignStep& step);

  // foreign_rows.cpp: rows
  void take_worker_lists(const ForeignStep& step);
  void order_rows(const ForeignStep& step);
  void describe_rows(const ForeignStep& step);
  RowTrace describe_row(const ForeignRow& traced);
  std::int32_t exact_computed_tokens(const ForeignRow& traced,
                                     const ScheduledTrace& scheduled) const;
  void fill_history(const ForeignRequest& request, RowTrace& row) const;
  void append_tokens(const ForeignRequest& request, const RowTrace& row,
                     std::span<const std::int32_t> sampled);
  void note_rows_of_batch();
  Status check_counts(const ForeignStep& step);
  Status write_tables();
  Status dispatch(const ForeignStep& step);
  Status build_metadata(const ForeignStep& step);
  // `overlay`: null without traced metadata.
  void note_untold(const GroupTrace& group, const ForeignMetadataOverlay* overlay);
  bool contradicts(const ForeignStep& step, const ForeignMetadata& traced,
                   const BuilderMetadata& ours) const;
  std::span<const std::int32_t> sampled_by(const ForeignStep& step, RequestId id);

  // foreign_copies.cpp
  void decide_pre_copies();
  void decide_post_copies();
  void pre_copy(const ForeignStep& step);
  void post_copy(const ForeignStep& step);
  void launch_ours(CopyLaunch& launch) const;
  std::int32_t block_at(RequestId request, std::int32_t group, std::int32_t column) const;
  void launch_traced(std::vector<ForeignCopy> traced, CopyLaunch& launch);
  void place_blocks(const ForeignCopy& traced, StateCopyDecision& decision);
  void place_copy(const ForeignCopy& traced, CopyLaunch& launch);
  void place_rowless_copy(const ForeignCopy& traced, CopyLaunch& launch) const;
  std::int32_t decision_of(const ForeignCopy& traced, CopyLaunch& launch);

  // foreign_importer.cpp
  RequestId owner_of(const ForeignCopy& traced, const std::vector<ForeignCopy>& all,
                     const CopyLaunch& launch) const;
  bool carries_out(const ForeignCopy& traced, const StateCopyDecision& decision) const;
  bool some_group_agrees(const std::vector<ForeignCopy>& traced, std::int32_t row,
                         const StateCopyDecision& decision) const;
  bool has_one_wrong_value(const ForeignCopy& traced, const StateCopyDecision& decision) const;
  bool differs_by_one_value(const std::vector<ForeignCopy>& traced, std::int32_t row,
                            const StateCopyDecision& decision) const;
  bool has_extra_copy(const std::vector<ForeignCopy>& traced, std::int32_t row,
                      const StateCopyDecision& decision) const;

  void count(Computed what) { ++num_computed_[static_cast<std::size_t>(what)]; }

  EngineConfig config_;
  bool computes_checkpoints_ = false;  // ForeignHeader
  std::string untold_metadata_;
  std::string untold_checkpoints_;
  bool contradicts_checkpoints_ = false;
  BatchMetadata metadata_;
  ForeignBlockTables tables_;
  ForeignRequests requests_;
  ForeignSlots slots_;
  std::vector<BlockTable> worker_tables_;         // [groups] rows of the current step
  std::vector<ForeignMetadataOverlay> overlays_;  // [groups]
  MambaStateIdx mamba_state_idx_;
  StepTrace trace_;
  std::vector<std::int32_t> remembered_columns_;
  std::vector<std::int64_t> buffers_before_;    // [groups] persistent_buffers_step before the step
  std::vector<const ForeignRow*> traced_rows_;  // [rows] of the current step
  std::vector<RequestId> in_batch_;             // rows of the step before
  ForeignFrame sampled_;                        // by the current step
  ForeignFrame in_flight_;                      // asynchronous: of the step before
  std::array<std::int64_t, kNumComputed> num_computed_{};

  // Inputs and outputs of the functions of core/state (foreign_copies.cpp).
  CopyRows copy_rows_;
  std::vector<MambaBlockTable> mamba_tables_;  // [mamba groups]
  std::vector<StateCopyDecision> decisions_;   // [rows] our decisions, as the trace lists them
  std::vector<bool> ours_stands_;              // [rows] the traced copies are held against ours
  std::vector<StateCopyDecision> copying_;     // [rows] the decisions as the launch changes them
  std::vector<std::int32_t> columns_;          // [rows]
  std::vector<std::int32_t> identity_;         // [rows] V2: one slot per row
  std::vector<std::int32_t> new_computed_tokens_;  // [rows] V2: after acceptance
};

}  // namespace hybridscope
