// The V2 runner: one slot per request, rows laid out anew in every step (semantics: v2-step,
// request-slots, row-order-v2, accepted-counts-v2; vLLM v1/worker/gpu). Reads the step's trace and
// its own state, never the scheduler.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/engine/batch_slots_v2.h"
#include "core/engine/copy_rows.h"
#include "core/engine/runner_base.h"

namespace hybridscope {

enum class RowOrder : std::uint8_t;       // worker_v2_policies.h
enum class FullRowsFirst : std::uint8_t;  // the same

// Indices into `scheduled`, sorted into row order (semantics: row-order-v2). `row_classes`:
// [scheduled].
struct RowOrderInput {
  std::span<const ScheduledTrace> scheduled;
  std::span<const RowClass> row_classes;
  std::int32_t num_speculative_tokens = 0;
};
std::vector<std::int32_t> order_rows_v2(const RowOrderInput& input, RowOrder order,
                                        FullRowsFirst full_rows_first);

class WorkerV2 : public RunnerBase {
 public:
  static Result<WorkerV2> create(const EngineConfig& config);
  static Result<WorkerV2> create(EngineConfig&&) = delete;  // it outlives the runner

  // One pre-copy decision per row: the advance kernel's, whose columns and bias the pre-copy kernel
  // uses.
  void prepare(StepTrace& trace, const NewBlocks& new_blocks, std::span<const RequestId> finished,
               RequestList& requests);
  // Also updates the counts and exact lengths of each slot.
  void sample(StepTrace& trace, RequestList& requests);

  const BatchSlotsV2& slots() const { return slots_; }

 private:
  WorkerV2(const EngineConfig& config, BatchMetadata metadata,
           std::span<const std::int32_t> columns);

  // worker_v2.cpp
  void free_slots(const StepTrace& trace, std::span<const RequestId> finished,
                  const RequestList& requests);
  void update_slots(const StepTrace& trace, const NewBlocks& new_blocks);
  void admit(const ScheduledTrace& scheduled);
  bool is_prefilling(const ScheduledTrace& scheduled) const;
  RowClass class_of(const ScheduledTrace& scheduled) const;
  void describe_rows(StepTrace& trace, RequestList& requests);
  void find_remembered_columns();

  // worker_v2.cpp
  void pre_copy(StepTrace& trace);
  void post_copy_align(StepTrace& trace);
  void post_copy_all(StepTrace& trace);

  BatchSlotsV2 slots_;

  // The members below belong to the current step.
  std::vector<RequestId> leaving_;                // finished and preempted
  std::vector<RowClass> row_classes_;             // [scheduled]
  std::vector<std::int32_t> idx_mapping_;         // [rows] slot of each row
  std::vector<std::int32_t> remembered_columns_;  // [rows] mode all with drafts
};

}  // namespace hybridscope
