// Request logs in the style of the OpenAI API: JSON Lines with the request, and with the response
// if it was logged (docs/traffic.md, "openai-log").
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "sessions/traffic/traffic.h"
#include "sessions/traffic/traffic_input.h"

namespace hybridscope {

inline constexpr std::int32_t kAssumedOutputTokens = 256;  // of a request whose log says none

bool is_openai_log(std::string_view head);

// The request of line n is called "rN"; times count from the earliest. A request whose messages
// begin with those of an earlier one and go on with its answer is a later turn of its conversation.
// Error corrupt "FILE:LINE: ...".
Result<TrafficLog> read_openai_log(TrafficInput input);

}  // namespace hybridscope
