#include "sessions/conformance/scheduler_calls.h"

#include <bit>
#include <limits>
#include <nlohmann/json.hpp>

#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/vector_engine_config.h"

namespace hybridscope {
namespace {

using nlohmann::json;

constexpr std::int32_t kMaxRequestTokens = 1 << 26;

// A time as an integer in the same order: a double's bits are ordered like its size.
std::int64_t ordered(double time) {
  const auto bits = std::bit_cast<std::int64_t>(time);
  return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits : bits;
}

}  // namespace

std::map<std::string, TokenIds> read_token_ids(const VectorValue& object) {
  std::map<std::string, TokenIds> result;
  for (const auto& [name, ids] : object.members()) result[name] = ids.int64s();
  return result;
}

Result<SchedulerCalls> SchedulerCalls::create(const VectorValue& config) {
  Result<SchedulerReplay> replay = SchedulerReplay::create(read_scheduler_config(config));
  if (!replay) return replay.error();
  const bool v2 = config["use_v2_model_runner"].boolean();
  return SchedulerCalls(std::move(replay).value(),
                        v2 ? ResumedRequests::as_new : ResumedRequests::cached);
}

json SchedulerCalls::answer(const VectorValue& call) {
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
      const VectorValue sampled = call["sampled_token_ids"];
      const Status updated = replay_.update_from_output(read_token_ids(sampled));
      if (!updated) sampled.fail(updated.error().message);
      return update_json(replay_);
    }
    default:
      replay_.update_draft_token_ids(read_token_ids(call["draft_token_ids"]));
      return draft_counts_json(replay_);
  }
}

json SchedulerCalls::add_request(const VectorValue& call) {
  const VectorValue id = call["id"];
  const Status added =
      replay_.add_request({.name = id.string(),
                           .prompt_token_ids = call["prompt_token_ids"].int64s(),
                           .max_tokens = call["max_tokens"].int32_in(0, kMaxRequestTokens),
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

}  // namespace hybridscope
