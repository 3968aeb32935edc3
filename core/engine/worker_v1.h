// The V1 runner: turns what was scheduled into rows, metadata and state copies
// (semantics: update-states, running-column, accepted-counts-v1). Reads the step's trace and its
// own state, never the scheduler.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/engine/batch_rows_v1.h"
#include "core/engine/copy_rows.h"
#include "core/engine/runner_base.h"
#include "core/state/mamba_state_idx.h"

namespace hybridscope {

class WorkerV1 : public RunnerBase {
 public:
  static Result<WorkerV1> create(const EngineConfig& config);
  static Result<WorkerV1> create(EngineConfig&&) = delete;  // it outlives the runner

  void prepare(StepTrace& trace, const NewBlocks& new_blocks, std::span<const RequestId> finished,
               RequestList& requests);
  void sample(StepTrace& trace, RequestList& requests);

 private:
  WorkerV1(const EngineConfig& config, BatchMetadata metadata,
           std::span<const std::int32_t> columns);

  // worker_v1.cpp
  void update_rows(const StepTrace& trace, const NewBlocks& new_blocks,
                   std::span<const RequestId> finished, RequestList& requests);
  void take_blocks(const StepTrace& trace, const NewBlocks& new_blocks, std::size_t scheduled,
                   RequestList& requests);
  void add_row(EngineRequest& request);
  void reorder_rows(const StepTrace& trace);
  void describe_rows(StepTrace& trace, RequestList& requests);
  RowClass class_of(const ScheduledTrace& scheduled) const;
  void take_counts(const RequestList& requests);
  void keep_counts(const StepTrace& trace, RequestList& requests);
  std::span<BlockTable> device_tables();

  // worker_v1.cpp
  void forget_columns(const StepTrace& trace, std::span<const RequestId> finished);
  std::span<const std::int32_t> remembered_columns(const StepTrace& trace);
  void find_optimistic_counts(const StepTrace& trace);
  void pre_copy(StepTrace& trace);
  void post_copy_align(StepTrace& trace);
  void post_copy_all(StepTrace& trace);

  BatchRowsV1 rows_;
  MambaStateIdx mamba_state_idx_;

  // The members below belong to the current step.
  std::vector<std::int32_t> scheduled_of_request_;  // by request id, -1: not scheduled
  std::vector<RequestId> scheduled_ids_;            // requests whose element is set
  std::vector<RowRegion> regions_;
  std::vector<AcceptedCount> gathered_;    // [rows] counts that landed before the rows moved
  std::vector<AcceptedCount> accepted_;    // [rows] for the next step, after sampling
  std::vector<BlockTable> device_tables_;  // [groups] where they differ from the host's

  // Inputs and outputs of the functions of core/state (worker_v1.cpp).
  CopyRows copy_rows_;
  std::vector<std::int32_t> optimistic_computed_tokens_;  // [rows]
  std::vector<RequestId> preempted_;                      // that lose their column
  std::vector<RequestId> resumed_;                        // that lose their column
  PostprocessInputBuffers staged_;
  std::vector<std::int32_t> num_accepted_tokens_out_;  // [max_num_seqs]
  std::vector<std::int32_t> prev_last_scheduled_idx_;  // [max_num_seqs] mode all with drafts
};

}  // namespace hybridscope
