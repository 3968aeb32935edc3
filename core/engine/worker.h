// The worker of an engine: one of the two model runners. A runner turns what was scheduled into
// rows, metadata and state copies; it reads the step's trace and its own state, never the
// scheduler.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/engine/batch_metadata.h"
#include "core/engine/batch_rows_v1.h"
#include "core/engine/batch_slots_v2.h"
#include "core/engine/copy_rows.h"
#include "core/engine/engine_config.h"
#include "core/engine/engine_request.h"
#include "core/engine/row_inputs.h"
#include "core/state/copy_launch.h"
#include "core/state/mamba_state_idx.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// The base of both model runners: their interface and their common state.

// Block ids the scheduler reports for one step: full lists of admitted requests, new ids of running
// ones.
struct NewBlocks {
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> starts;  // [scheduled * groups + 1], by request, then by group
  std::span<const std::int32_t> of(std::size_t scheduled, std::size_t groups,
                                   std::size_t group) const {
    const std::size_t i = scheduled * groups + group;
    return std::span(ids).subspan(starts[i], starts[i + 1] - starts[i]);
  }
};

// A runner is created from an EngineConfig, which outlives it and of which nothing but the policies
// may change (errors: settings that the metadata builders or the graph resolution refuse). It does
// two things a step:
//   prepare(trace, new_blocks, finished, requests): rows, batch arrays, graph dispatch, pre-copies
//     and metadata; fills the trace's "prepare" part. `finished`: requests that ended since the
//     last step.
//   sample(trace, requests): accepted tokens of each row, post-copies, counts for the next step;
//     fills the "sample" part.
class RunnerBase {
 public:
  // From now on the runner reads `config`, of the copy of an engine whose runner this is a copy of.
  void read_from(const EngineConfig& config) { config_ = &config; }
  const CudagraphResolution& cudagraphs() const { return metadata_.cudagraphs(); }

 protected:
  RunnerBase(const EngineConfig& config, BatchMetadata metadata)
      : config_(&config), inputs_(config), metadata_(std::move(metadata)) {}

  // The copies of the decisions, one for each row, become those after the forward pass.
  void add_post_copies(StepTrace& trace);

  const EngineConfig* config_;  // the engine's
  RowInputs inputs_;
  BatchMetadata metadata_;

  // Inputs and outputs of the functions of core/state.
  std::vector<MambaBlockTable> mamba_tables_;  // [mamba groups]
  std::vector<StateCopyDecision> decisions_;
};

// The V1 runner (semantics: update-states, running-column, accepted-counts-v1).

class WorkerV1 : public RunnerBase {
 public:
  WorkerV1(const EngineConfig& config, BatchMetadata metadata);

  void prepare(StepTrace& trace, const NewBlocks& new_blocks, std::span<const RequestId> finished,
               RequestList& requests);
  void sample(StepTrace& trace, RequestList& requests);

 private:
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
  void forget_columns(const StepTrace& trace, std::span<const RequestId> finished);
  std::span<const std::int32_t> remembered_columns(const StepTrace& trace);
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

  // Inputs and outputs of the functions of core/state.
  CopyRows copy_rows_;
  std::vector<std::int32_t> optimistic_computed_tokens_;  // [rows]
  std::vector<RequestId> preempted_;                      // that lose their column
  std::vector<RequestId> resumed_;                        // that lose their column
  PostprocessInputBuffers staged_;
  std::vector<std::int32_t> num_accepted_tokens_out_;  // [max_num_seqs]
  std::vector<std::int32_t> prev_last_scheduled_idx_;  // [max_num_seqs] mode all with drafts
};

// The V2 runner: one slot per request, rows laid out anew in every step (semantics: v2-step,
// request-slots, row-order-v2, accepted-counts-v2; vLLM v1/worker/gpu).

enum class RowOrder : std::uint8_t;       // worker_policies.h
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
  WorkerV2(const EngineConfig& config, BatchMetadata metadata);

  // One pre-copy decision per row: the advance kernel's, whose columns and bias the pre-copy kernel
  // uses.
  void prepare(StepTrace& trace, const NewBlocks& new_blocks, std::span<const RequestId> finished,
               RequestList& requests);
  // Also updates the counts and exact lengths of each slot.
  void sample(StepTrace& trace, RequestList& requests);

  const BatchSlotsV2& slots() const { return slots_; }

 private:
  void free_slots(const StepTrace& trace, std::span<const RequestId> finished,
                  const RequestList& requests);
  void update_slots(const StepTrace& trace, const NewBlocks& new_blocks);
  void admit(const ScheduledTrace& scheduled);
  bool is_prefilling(const ScheduledTrace& scheduled) const;
  RowClass class_of(const ScheduledTrace& scheduled) const;
  void describe_rows(StepTrace& trace, RequestList& requests);
  void find_remembered_columns();
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

class Worker {
 public:
  // The runner that `config` names; RunnerBase says what it does and which settings it refuses.
  // `config` outlives the worker.
  static Result<Worker> create(const EngineConfig& config);
  static Result<Worker> create(EngineConfig&&) = delete;

  // The state of `other`, for a copy of its engine, which owns `config`.
  Worker(const Worker& other, const EngineConfig& config);
  Worker(Worker&&) = default;
  Worker& operator=(Worker&&) = default;

  void prepare(StepTrace& trace, const NewBlocks& new_blocks, std::span<const RequestId> finished,
               RequestList& requests) {
    std::visit([&](auto& runner) { runner.prepare(trace, new_blocks, finished, requests); },
               runner_);
  }
  void sample(StepTrace& trace, RequestList& requests) {
    std::visit([&](auto& runner) { runner.sample(trace, requests); }, runner_);
  }

  const CudagraphResolution& cudagraphs() const {
    return std::visit(
        [](const auto& runner) -> const CudagraphResolution& { return runner.cudagraphs(); },
        runner_);
  }

 private:
  using Runner = std::variant<WorkerV1, WorkerV2>;
  explicit Worker(Runner runner) : runner_(std::move(runner)) {}
  Runner runner_;
};

}  // namespace hybridscope
