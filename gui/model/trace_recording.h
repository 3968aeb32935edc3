// The session of a judged trace, written while the trace is judged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/record/session_header.h"
#include "sessions/record/step_recorder.h"
#include "storage/session_file.h"
#include "storage/session_writer.h"

namespace hybridscope {

// Which checks the window makes of a trace.
inline constexpr CheckScope kTraceCheckScope = CheckScope::step;

class TraceRecording {
 public:
  struct Options {
    SessionPlace place;
    RecordLevel level = RecordLevel::full;
    std::string program = "hybridscope";
    // As in SessionWriter::Options; with it, steps are in the file as soon as possible.
    std::function<void(std::int64_t)> committed = {};
  };
  // `trace` has just begun with this header line; it must outlive the recording. Errors: those of
  // SessionWriter::begin.
  static Result<std::unique_ptr<TraceRecording>> begin(JudgedTrace& trace,
                                                       std::string_view header_line,
                                                       Options options);

  // Error: what keeps the file from being written.
  Status add(const JudgedStep& step);
  Status finish(SessionStatus status, const std::string& reason);
  const std::string& name() const { return writer_->name(); }

 private:
  TraceRecording(StepRecorder recorder, std::unique_ptr<SessionWriter> writer)
      : recorder_(std::move(recorder)), writer_(std::move(writer)) {}

  StepRecorder recorder_;
  std::unique_ptr<SessionWriter> writer_;
};

}  // namespace hybridscope
