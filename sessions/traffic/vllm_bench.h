// Result files of `vllm bench serve` (docs/traffic.md, "vllm-bench").
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "sessions/traffic/traffic.h"
#include "sessions/traffic/traffic_input.h"

namespace hybridscope {

bool is_vllm_bench(std::string_view head);

// Request n of the arrays (counted from 1) is called "rN"; times count from the earliest. Error
// corrupt "FILE:LINE: ..."; a result without the lengths of its requests names the option that
// writes them.
Result<TrafficLog> read_vllm_bench(TrafficInput input);

}  // namespace hybridscope
