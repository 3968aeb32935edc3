// Runs the V1 worker's steps of pipeline vectors: WorkerBatch rebuilds the worker's rows from what
// the scheduler reports, PipelineWorker carries out pre-copies, staged inputs and the fused
// post-copy on one set of state tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "core/engine/batch_rows_v1.h"
#include "core/state/mamba_state_idx.h"
#include "core/state/state_memory.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/vector_kernels.h"
#include "sessions/conformance/vector_states.h"
#include "sessions/replay/scheduler_replay.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// The V1 worker's bookkeeping, rebuilt from the scheduler's reports: rows, block lists and accepted
// counts.
class WorkerBatch {
 public:
  explicit WorkerBatch(const EngineConfig& config);

  // Applies a step. Finished requests are forgotten. Requests without tokens and resumed requests
  // leave the batch. New requests, then returning ones, take the lowest free rows; the last rows
  // move into the rows that stay free.
  void update(const ReplayedSchedule& schedule);

  // Throws at the first member of a worker_step call that differs from the rebuilt state: req_ids,
  // num_computed_tokens, block_ids, or num_accepted_tokens_cpu (compared for the rows in use).
  void check(const JsonValue& call) const;

  // The accepted counts after the step, by row.
  void set_num_accepted_tokens(std::span<const std::int32_t> num_accepted_tokens);

 private:
  struct Known {
    GroupBlockIds block_ids;  // old entries are never changed on the worker
    std::int32_t num_computed_tokens = 0;
  };

  void leave(const std::string& name);
  void take(const ReplayedRequest& request);
  std::vector<std::string> row_names() const;

  EngineConfig config_;
  VectorRequests requests_;
  std::map<std::string, Known> known_;
  std::map<RequestId, std::string> names_;
  BatchRowsV1 rows_;
};

class PipelineWorker {
 public:
  // `config`: the vector's config; `engine_config`: the same as an EngineConfig. `kernels` must
  // outlive this object. Throws when the tensors are inconsistent.
  PipelineWorker(const JsonValue& config, const EngineConfig& engine_config,
                 const VectorKernels& kernels);

  // Answers a worker_step call for the step `schedule`. Throws when the call's inputs are not those
  // that follow from the schedule.
  nlohmann::json step(const JsonValue& call, const ReplayedSchedule& schedule,
                      ResumedRequests resumed_requests);

  const VectorMemory& memory() const { return memory_; }

 private:
  // The inputs of both halves of a step.
  struct Step {
    std::vector<std::string> names;  // [num_reqs] batch order
    std::vector<RequestId> req_ids;
    std::vector<std::int32_t> num_scheduled_tokens;
    std::vector<std::int32_t> num_computed_tokens;
    std::vector<std::int32_t> num_draft_tokens;
    std::vector<RequestBlockIds> block_ids;             // [num_reqs]
    std::vector<std::int32_t> num_accepted_tokens_cpu;  // [max_num_reqs]
    std::vector<std::int32_t> num_accepted_sampled;     // [num_reqs]
  };
  Step read_step(const JsonValue& call, const ReplayedSchedule& schedule);
  Status preprocess(Step& step, const ReplayedSchedule& schedule, ResumedRequests resumed_requests,
                    nlohmann::json& answer);
  Status postprocess(Step& step, nlohmann::json& answer);

  std::int32_t max_num_reqs_;
  std::int32_t num_speculative_tokens_;
  std::int32_t block_table_columns_;
  MambaStateTensors tensors_;
  VectorMemory memory_;
  const VectorKernels& kernels_;
  PostprocessInputBuffers buffers_;
  WorkerBatch batch_;
  VectorRequests requests_;
  MambaStateIdx mamba_state_idx_;
};

}  // namespace hybridscope
