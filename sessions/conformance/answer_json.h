// Writes core's answers as JSON in the form of the reference vectors.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "sessions/replay/scheduler_replay.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// {"error": message}.
nlohmann::json error_json(const Error& error);

// A flat list for a view of any dimensions.
nlohmann::json list_json(const TensorView<std::int32_t>& view);

// A list of rows.
nlohmann::json rows_json(const TensorView<std::int32_t>& view);

// The answers to the elements of an array, up to and including the first error: the state after an
// error is not part of the contract.
nlohmann::json answer_until_error(const JsonValue& array,
                                  const std::function<nlohmann::json(const JsonValue&)>& answer);

// Writes the scheduler's answers as JSON in the form of the vectors.

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
