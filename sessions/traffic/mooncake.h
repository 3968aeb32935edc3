// Real traffic in the format of the Mooncake traces: JSON Lines, one request a line, whose prompt
// is a list of block ids (docs/traffic.md, "mooncake").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/traffic/traffic.h"
#include "sessions/traffic/traffic_input.h"

namespace hybridscope {

inline constexpr std::int32_t kTrafficBlockTokens = 512;  // prompt tokens per hash id

// `head`: the beginning of the file.
bool is_mooncake(std::string_view head);

// Token j of block h is token j of text h. The request of line n (counted from 1) is called "rN".
// Error corrupt with "FILE:LINE: ...", or LINE:COLUMN when the text is not JSON.
Result<TrafficLog> read_mooncake(TrafficInput input);

// Reads a Mooncake trace whose requests arrive at the times of the file.
Result<Traffic> read_traffic(ReadBytes read, const std::string& file);

}  // namespace hybridscope
