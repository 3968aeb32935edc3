#include "gui/model/trace_recording.h"

#include <utility>

#include "sessions/record/session_plan.h"

namespace hybridscope {

Result<std::unique_ptr<SessionSink>> begin_trace_recording(JudgedTrace& trace,
                                                           std::string_view header_line,
                                                           RecordLevel level,
                                                           SessionSink::Options options) {
  const ForeignHeader& foreign = trace.reader().header();
  SessionHeader header = judge_header({.source = trace.file(),
                                       .engine = foreign.engine,
                                       .header_line = header_line,
                                       .config = foreign.config,
                                       .scope = kTraceCheckScope});
  header.level = level;
  if (level == RecordLevel::full) trace.log_writes();
  return SessionSink::begin(std::move(header), trace.names(), std::move(options));
}

}  // namespace hybridscope
