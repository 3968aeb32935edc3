// V1's worker step of pipeline vectors: pre-copy, staged inputs and fused post-copy on
// one set of state tensors.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/state/mamba_state_idx.h"
#include "core/state/stage_inputs.h"
#include "core/state/state_layout.h"
#include "sessions/conformance/request_block_tables.h"
#include "sessions/conformance/schedule_json.h"
#include "sessions/conformance/vector_memory.h"
#include "sessions/conformance/vector_requests.h"
#include "sessions/conformance/worker_batch.h"
#include "sessions/replay/scheduler_replay.h"

namespace hybridscope {

class PipelineWorker {
 public:
  // `config`: the vector's, as `engine_config` has it. Throws when the tensors make no sense.
  PipelineWorker(const VectorValue& config, const EngineConfig& engine_config,
                 ExecuteCopies execute_copies);

  // Answers a worker_step call after the step `schedule`. The call's inputs are used when they are
  // what the schedule leads to; it throws otherwise.
  nlohmann::json step(const VectorValue& call, const ReplayedSchedule& schedule,
                      ResumedRequests resumed_requests);

  const VectorMemory& memory() const { return memory_; }

 private:
  // What both halves of a step read.
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
  Step read_step(const VectorValue& call, const ReplayedSchedule& schedule);
  Status preprocess(Step& step, const ReplayedSchedule& schedule, ResumedRequests resumed_requests,
                    nlohmann::json& answer);
  Status postprocess(Step& step, nlohmann::json& answer);

  std::int32_t max_num_reqs_;
  std::int32_t num_speculative_tokens_;
  std::int32_t block_table_columns_;
  MambaStateTensors tensors_;
  VectorMemory memory_;
  ExecuteCopies execute_copies_;
  PostprocessInputBuffers buffers_;
  WorkerBatch batch_;
  VectorRequests requests_;
  MambaStateIdx mamba_state_idx_;
};

}  // namespace hybridscope
