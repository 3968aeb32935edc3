// Mooncake rows with sessions, dependencies and waits: the format that AIPerf and Dynamo replay
// (docs/traffic.md, "mooncake-sessions").
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "sessions/traffic/traffic_input.h"
#include "sessions/traffic/traffic_log.h"

namespace hybridscope {

bool is_mooncake_sessions(std::string_view head);

// The request of line n is called "rN". Error corrupt "FILE:LINE: ...".
Result<TrafficLog> read_mooncake_sessions(TrafficInput input);

}  // namespace hybridscope
