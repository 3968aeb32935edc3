// scheduler and pipeline: whole runs, call by call.
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>

#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/pipeline_worker.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/vector_engine_config.h"
#include "sessions/replay/scheduler_replay.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

namespace {

class SchedulerCalls {
 public:
  // Reads `config` of the vector. Errors: those of SchedulerReplay::create.
  static Result<SchedulerCalls> create(const JsonValue& config);

  // The call's result. Throws for an op that the scheduler does not have and for arguments that
  // contradict the schedule.
  nlohmann::json answer(const JsonValue& call);

  const EngineConfig& config() const { return replay_.config(); }
  ResumedRequests resumed_requests() const { return resumed_requests_; }
  // What the last `schedule` call decided.
  const std::optional<ReplayedSchedule>& last_schedule() const { return last_schedule_; }

 private:
  SchedulerCalls(SchedulerReplay replay, ResumedRequests resumed_requests)
      : replay_(std::move(replay)), resumed_requests_(resumed_requests) {}

  nlohmann::json add_request(const JsonValue& call);
  nlohmann::json schedule();

  SchedulerReplay replay_;
  ResumedRequests resumed_requests_;
  std::optional<ReplayedSchedule> last_schedule_;
};

using nlohmann::json;

// {name: [token ids]}.
std::map<std::string, TokenIds> read_token_ids_by_name(const JsonValue& object) {
  std::map<std::string, TokenIds> result;
  for (const auto& [name, ids] : object.members()) result[name] = ids.int64s();
  return result;
}

constexpr std::int32_t kMaxRequestTokens = 1 << 26;

// A time as an integer of the same order. Negative doubles, whose bits sort backwards, are
// mirrored.
std::int64_t ordered(double time) {
  const auto bits = std::bit_cast<std::int64_t>(time);
  return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits : bits;
}

using nlohmann::json;

// Scheduler and worker: each scheduled step runs on the worker before its output is returned.
class PipelineCalls {
 public:
  PipelineCalls(SchedulerCalls scheduler, const VectorCase& vector, const VectorKernels& kernels)
      : scheduler_(std::move(scheduler)), worker_(vector.config, scheduler_.config(), kernels) {}

  const VectorMemory& memory() const { return worker_.memory(); }

  json answer(const JsonValue& call) {
    const JsonValue op = call["op"];
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

Result<SchedulerCalls> SchedulerCalls::create(const JsonValue& config) {
  Result<SchedulerReplay> replay = SchedulerReplay::create(read_scheduler_config(config));
  if (!replay) return replay.error();
  const bool v2 = config["use_v2_model_runner"].boolean();
  return SchedulerCalls(std::move(replay).value(),
                        v2 ? ResumedRequests::as_new : ResumedRequests::cached);
}

json SchedulerCalls::answer(const JsonValue& call) {
  switch (call["op"].one_of({"add_request", "abort", "reset_prefix_cache", "schedule",
                             "update_from_output", "update_draft_token_ids"})) {
    case 0:
      return add_request(call);
    case 1:
      replay_.abort(call["id"].string());
      return {{"num_free", replay_.kv_cache().num_free_blocks()}};
    case 2:
      return {{"result", replay_.reset_prefix_cache(call["reset_running_requests"].boolean())}};
    case 3:
      return schedule();
    case 4: {
      const JsonValue sampled = call["sampled_token_ids"];
      const Status updated = replay_.update_from_output(read_token_ids_by_name(sampled));
      if (!updated) sampled.fail(updated.error().message);
      return update_json(replay_);
    }
    default:
      replay_.update_draft_token_ids(read_token_ids_by_name(call["draft_token_ids"]));
      return draft_counts_json(replay_);
  }
}

json SchedulerCalls::add_request(const JsonValue& call) {
  const JsonValue id = call["id"];
  const Status added =
      replay_.add_request({.name = id.string(),
                           .prompt_token_ids = call["prompt_token_ids"].int64s(),
                           .max_tokens = call["max_tokens"].int32({0, kMaxRequestTokens}),
                           .priority = call["priority"].int32(),
                           .arrival_time = ordered(call["arrival_time"].number())});
  if (!added) id.fail(added.error().message);
  return json::object();
}

json SchedulerCalls::schedule() {
  Result<ReplayedSchedule> schedule = replay_.schedule();
  if (!schedule) return error_json(schedule.error());
  last_schedule_ = std::move(schedule).value();
  return schedule_json(*last_schedule_, replay_, resumed_requests_);
}

json recompute_scheduler(const VectorCase& vector, const VectorKernels&) {
  check_pool_size(vector.config, vector.input);
  auto calls = SchedulerCalls::create(vector.config);
  if (!calls) return error_json(calls.error());
  return {{"results", answer_until_error(vector.input, [&](const JsonValue& call) {
             return calls.value().answer(call);
           })}};
}

json recompute_pipeline(const VectorCase& vector, const VectorKernels& kernels) {
  check_pool_size(vector.config, vector.input);
  auto scheduler = SchedulerCalls::create(vector.config);
  if (!scheduler) return error_json(scheduler.error());
  PipelineCalls calls(std::move(scheduler).value(), vector, kernels);
  json answer{{"raw_crc32_before", calls.memory().raw_crc32()}};
  answer["results"] =
      answer_until_error(vector.input, [&](const JsonValue& call) { return calls.answer(call); });
  answer["final_state_crc32"] = calls.memory().state_crc32();
  return answer;
}

}  // namespace hybridscope
