// Conversations as texts, as the ShareGPT data sets have them (docs/traffic.md, "sharegpt").
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "sessions/traffic/traffic.h"
#include "sessions/traffic/traffic_input.h"

namespace hybridscope {

bool is_sharegpt(std::string_view head);

// Turn k of the file's n-th conversation (both counted from 1) is called "cN.tK". A file of any
// size is read with one conversation in memory besides the prompts. Error corrupt "FILE:LINE: ...",
// where LINE is that in which the conversation begins.
Result<TrafficLog> read_sharegpt(TrafficInput input);

}  // namespace hybridscope
