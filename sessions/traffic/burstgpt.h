// The BurstGPT traces: CSV with times and numbers of tokens (docs/traffic.md, "burstgpt").
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "sessions/traffic/traffic.h"
#include "sessions/traffic/traffic_input.h"

namespace hybridscope {

bool is_burstgpt(std::string_view head);

// The request of line n (the header is line 1) is called "rN"; times count from the earliest. Error
// corrupt "FILE:LINE: ...".
Result<TrafficLog> read_burstgpt(TrafficInput input);

}  // namespace hybridscope
