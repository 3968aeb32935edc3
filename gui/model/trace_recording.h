// The session of a judged trace, written while the trace is judged.
#pragma once

#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "sessions/judge/judged_trace.h"
#include "storage/session_sink.h"

namespace hybridscope {

// Which checks the window makes of a trace.
inline constexpr CheckScope kTraceCheckScope = CheckScope::step;

// Where the steps of `trace` go, which has just begun with this header line and must outlive the
// result; at level full it logs its writes from now on. Errors: those of SessionSink::begin.
Result<std::unique_ptr<SessionSink>> begin_trace_recording(JudgedTrace& trace,
                                                           std::string_view header_line,
                                                           RecordLevel level,
                                                           SessionSink::Options options);

}  // namespace hybridscope
