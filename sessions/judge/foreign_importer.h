// One step that another engine told becomes a StepTrace, so that it can be executed and checked
// like one of our own. What the line leaves out is computed and counted.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/engine/batch_metadata.h"
#include "core/engine/copy_rows.h"
#include "core/state/mamba_state_idx.h"
#include "core/trace/step_trace.h"
#include "sessions/judge/foreign_block_tables.h"
#include "sessions/judge/foreign_metadata.h"
#include "sessions/judge/foreign_requests.h"
#include "sessions/judge/foreign_slots.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

// What a line may leave out (docs/trace-format.md).
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

// What one step sampled, until it returns to the scheduler.
struct ForeignFrame {
  struct Row {
    RequestId request;
    std::int32_t run = 0;
    std::int32_t num_draft_tokens = 0;
    std::int32_t num_sampled_tokens = 0;
  };
  std::int64_t step = 0;  // 0: there is no frame
  std::vector<Row> rows;  // [scheduled]
};

class ForeignImporter {
 public:
  // Errors: what the metadata builders, the graph resolution or the coordinator refuse; block
  // tables beyond 2^28 entries.
  static Result<ForeignImporter> create(const ForeignHeader& header);

  // Valid until the next call. Requires: a step the reader let through. Errors: a told graph that
  // does not hold the batch, told metadata of another shape than its builder's.
  Result<const StepTrace*> import(const ForeignStep& step);

  // Steps in which each was computed by us.
  std::int64_t num_computed(Computed what) const {
    return num_computed_[static_cast<std::size_t>(what)];
  }
  const EngineConfig& config() const { return config_; }
  // The scheduler's, after the last step.
  const BlockTableMirror& tables() const { return tables_.tables(); }

 private:
  ForeignImporter(const ForeignHeader& header, BatchMetadata metadata, ForeignBlockTables tables);

  // foreign_importer.cpp
  void forget(const ForeignStep& step);
  void admit(const ForeignStep& step);
  void schedule(const ForeignStep& step);
  void describe_hits();
  ScheduledTrace& scheduled_of(RequestId id);
  void begin_run(RequestId id);
  void leave_run(RequestId id);
  void complete(RequestId id, std::int32_t num_computed_tokens, Admission admission);
  void count_scheduled();
  Status prepare(const ForeignStep& step);

  // foreign_commits.cpp
  void leave_runs(const ForeignStep& step);
  void take_output(const ForeignStep& step);
  void commit(const ForeignFrame& frame);
  CommitTrace commit_row(const ForeignFrame::Row& row);
  CommitOutcome take_row(ForeignRequest& request, const ForeignFrame::Row& row);

  // foreign_rows.cpp
  void take_worker_lists(const ForeignStep& step);
  void order_rows(const ForeignStep& step);
  void describe_rows(const ForeignStep& step);
  RowTrace describe_row(const ForeignRow& told);
  std::int32_t exact_computed_tokens(const ForeignRow& told, const ScheduledTrace& scheduled) const;
  void fill_history(const ForeignRequest& request, RowTrace& row) const;
  void append_tokens(const ForeignRequest& request, const RowTrace& row,
                     std::span<const std::int32_t> sampled);
  void note_rows_of_batch();
  Status check_counts(const ForeignStep& step) const;
  Status write_tables();
  Status dispatch(const ForeignStep& step);
  Status build_metadata(const ForeignStep& step);
  std::span<const std::int32_t> sampled_by(const ForeignStep& step, RequestId id);

  // foreign_copies.cpp
  void decide_pre_copies();
  void decide_post_copies();
  void pre_copy(const ForeignStep& step);
  void post_copy(const ForeignStep& step);
  void launch_ours(CopyLaunch& launch) const;
  void launch_told(const std::vector<ForeignCopy>& told, CopyLaunch& launch);
  void place_blocks(const ForeignCopy& told, StateCopyDecision& decision);
  void place_copy(const ForeignCopy& told, CopyLaunch& launch);
  void place_rowless_copy(const ForeignCopy& told, CopyLaunch& launch) const;
  std::int32_t decision_of(const ForeignCopy& told, CopyLaunch& launch);

  void count(Computed what) { ++num_computed_[static_cast<std::size_t>(what)]; }

  EngineConfig config_;
  BatchMetadata metadata_;
  ForeignBlockTables tables_;
  ForeignRequests requests_;
  ForeignSlots slots_;
  std::vector<BlockTable> worker_tables_;         // [groups] rows of the step under way
  std::vector<ForeignMetadataOverlay> overlays_;  // [groups]
  MambaStateIdx mamba_state_idx_;
  StepTrace trace_;
  std::vector<std::int32_t> remembered_columns_;
  std::vector<const ForeignRow*> told_rows_;  // [rows] of the step under way
  std::vector<RequestId> in_batch_;           // rows of the step before
  ForeignFrame sampled_;                      // by the step under way
  ForeignFrame in_flight_;                    // asynchronous: of the step before
  std::array<std::int64_t, kNumComputed> num_computed_{};

  // What the functions of core/state take and give (foreign_copies.cpp).
  CopyRows copy_rows_;
  std::vector<MambaBlockTable> mamba_tables_;      // [mamba groups]
  std::vector<StateCopyDecision> decisions_;       // [rows] ours, as the trace lists them
  std::vector<StateCopyDecision> copying_;         // [rows] what the launch makes of them
  std::vector<std::int32_t> columns_;              // [rows]
  std::vector<std::int32_t> identity_;             // [rows] V2: one slot a row
  std::vector<std::int32_t> new_computed_tokens_;  // [rows] V2: after acceptance
};

}  // namespace hybridscope
