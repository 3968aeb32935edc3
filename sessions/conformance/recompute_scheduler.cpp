// scheduler and pipeline: whole runs, call by call.
#include <nlohmann/json.hpp>

#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/pipeline_worker.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/scheduler_calls.h"
#include "sessions/conformance/vector_engine_config.h"

namespace hybridscope {
namespace {

using nlohmann::json;

// Every step that is scheduled runs on the worker before its output comes back.
class PipelineCalls {
 public:
  PipelineCalls(SchedulerCalls scheduler, const VectorCase& vector, ExecuteCopies execute_copies)
      : scheduler_(std::move(scheduler)),
        worker_(vector.config, scheduler_.config(), execute_copies) {}

  const VectorMemory& memory() const { return worker_.memory(); }

  json answer(const VectorValue& call) {
    const VectorValue op = call["op"];
    const std::string name = op.string();
    if (name == "worker_step") {
      if (!step_is_due_) op.fail("no step was scheduled since the last worker_step");
      step_is_due_ = false;
      return worker_.step(call, *scheduler_.last_schedule(), scheduler_.resumed_requests());
    }
    if (step_is_due_ && (name == "schedule" || name == "update_from_output"))
      op.fail("expected a worker_step for the step that was scheduled");
    json result = scheduler_.answer(call);
    if (name == "schedule") step_is_due_ = !result.contains("error");
    return result;
  }

 private:
  SchedulerCalls scheduler_;
  PipelineWorker worker_;
  bool step_is_due_ = false;
};

}  // namespace

json recompute_scheduler(const VectorCase& vector, ExecuteCopies) {
  check_pool_size(vector.config, vector.input);
  auto calls = SchedulerCalls::create(vector.config);
  if (!calls) return error_json(calls.error());
  return {{"results", answer_until_error(vector.input, [&](const VectorValue& call) {
             return calls.value().answer(call);
           })}};
}

json recompute_pipeline(const VectorCase& vector, ExecuteCopies execute_copies) {
  check_pool_size(vector.config, vector.input);
  auto scheduler = SchedulerCalls::create(vector.config);
  if (!scheduler) return error_json(scheduler.error());
  PipelineCalls calls(std::move(scheduler).value(), vector, execute_copies);
  json answer{{"raw_crc32_before", calls.memory().raw_crc32()}};
  answer["results"] =
      answer_until_error(vector.input, [&](const VectorValue& call) { return calls.answer(call); });
  answer["final_state_crc32"] = calls.memory().state_crc32();
  return answer;
}

}  // namespace hybridscope
