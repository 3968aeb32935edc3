// The scheduler's answers as the vectors write them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sessions/replay/scheduler_replay.h"

namespace hybridscope {

// Where a resumed request is reported: V1 has it among the cached ones, V2 among the new ones.
enum class ResumedRequests : std::uint8_t { cached, as_new };

// The result of a `schedule` call; `replay` as it is right after it.
nlohmann::json schedule_json(const ReplayedSchedule& schedule, const SchedulerReplay& replay,
                             ResumedRequests resumed_requests);

// The result of an `update_from_output` call.
nlohmann::json update_json(const SchedulerReplay& replay);

// Drafts now stored per live request.
nlohmann::json draft_counts_json(const SchedulerReplay& replay);

}  // namespace hybridscope
