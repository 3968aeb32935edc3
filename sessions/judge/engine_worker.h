// Our worker under the steps of a trace, with the trace's runner: the rows, copies, graph and
// metadata that it would make of the schedule, with the traced numbers of sampled tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/engine/engine_request.h"
#include "core/engine/worker.h"
#include "core/trace/step_trace.h"
#include "sessions/judge/engine_difference.h"
#include "sessions/judge/engine_scheduler.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

class EngineWorker {
 public:
  // `name_of`: runner V2 frees slots in the order of names. Errors: those of Worker::create.
  static Result<EngineWorker> create(const EngineConfig& config, RequestName name_of);

  // Prepares and samples one step; the answer is valid until the next call. Requires: our schedule
  // and the traced step agree. Error: the metadata builders refuse the batch.
  Result<const StepTrace*> run(const ForeignStep& step, const EngineScheduler& scheduler,
                               const ReplayedSchedule& schedule);

  // Runner V1: block lists of an unfinished request, after run(). [groups][columns]
  const std::vector<std::vector<std::int32_t>>& block_ids(RequestId id) const {
    return requests_[id].worker.block_ids;
  }
  // The accepted count of a row at the beginning of the last step, before its pre-copies.
  std::int32_t num_accepted_tokens_before(std::size_t row) const;

 private:
  EngineWorker(std::unique_ptr<const EngineConfig> config, Worker worker, RequestName name_of);
  void introduce(RequestId id, std::int32_t num_prompt_tokens);
  void describe(const EngineScheduler& scheduler, const ReplayedSchedule& schedule);
  void append_new_blocks(const ReplayedRequest& request);
  void script_acceptance(const ForeignStep& step);

  std::unique_ptr<const EngineConfig> config_;  // the worker reads it here
  Worker worker_;
  RequestName name_of_;
  RequestList requests_;
  std::int32_t num_requests_ = 0;  // of requests_, those that left included
  NewBlocks new_blocks_;
  StepTrace trace_;
};

}  // namespace hybridscope
