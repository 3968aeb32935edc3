// Writes the scheduler's answers as JSON in the form of the vectors.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sessions/replay/scheduler_replay.h"

namespace hybridscope {

// Which list reports a resumed request: V1 the cached requests, V2 the new ones.
enum class ResumedRequests : std::uint8_t { cached, as_new };

// The result of a `schedule` call; `replay` is in its state right after the call.
nlohmann::json schedule_json(const ReplayedSchedule& schedule, const SchedulerReplay& replay,
                             ResumedRequests resumed_requests);

// The result of an `update_from_output` call.
nlohmann::json update_json(const SchedulerReplay& replay);

// The number of stored drafts per live request.
nlohmann::json draft_counts_json(const SchedulerReplay& replay);

}  // namespace hybridscope
