// Answers the calls of scheduler vectors on a SchedulerReplay.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "sessions/conformance/schedule_json.h"
#include "sessions/conformance/vector_value.h"
#include "sessions/replay/scheduler_replay.h"

namespace hybridscope {

class SchedulerCalls {
 public:
  // `config` of the vector; error: those of SchedulerReplay::create.
  static Result<SchedulerCalls> create(const VectorValue& config);

  // The call's result. Throws for an op that is none of the scheduler's and for arguments that
  // contradict what was scheduled.
  nlohmann::json answer(const VectorValue& call);

  const EngineConfig& config() const { return replay_.config(); }
  ResumedRequests resumed_requests() const { return resumed_requests_; }
  // What the last `schedule` call decided.
  const std::optional<ReplayedSchedule>& last_schedule() const { return last_schedule_; }

 private:
  SchedulerCalls(SchedulerReplay replay, ResumedRequests resumed_requests)
      : replay_(std::move(replay)), resumed_requests_(resumed_requests) {}

  nlohmann::json add_request(const VectorValue& call);
  nlohmann::json schedule();

  SchedulerReplay replay_;
  ResumedRequests resumed_requests_;
  std::optional<ReplayedSchedule> last_schedule_;
};

// {name: [token ids]}.
std::map<std::string, TokenIds> read_token_ids(const VectorValue& object);

}  // namespace hybridscope
