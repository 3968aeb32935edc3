// Reads the first line of a trace into an EngineConfig.
#pragma once

#include "core/base/result.h"
#include "sessions/judge/foreign_trace.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

inline constexpr std::int64_t kTraceVersion = 1;

// The member that marks a line as a header.
inline constexpr std::string_view kVersionKey = "hybridscope_trace";

// `line`: a parsed header line. A JsonFault says what is missing, of the wrong type or unsupported.
ForeignHeader read_header(const JsonValue& line);

}  // namespace hybridscope
