#include "gui/model/open_trace.h"

#include <fmt/core.h>

#include <utility>

#include "gui/model/recorded_run.h"
#include "gui/model/temporary_folder.h"
#include "gui/model/trace_recording.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/text/line_source.h"
#include "sessions/text/stop_request.h"

namespace hybridscope {
namespace {

// Judges the first trace of a file, step by step, into a session.
class FirstTrace {
 public:
  FirstTrace(std::string path, SessionPlace place)
      : path_(std::move(path)),
        place_(std::move(place)),
        trace_(path_, kTraceCheckScope, [this](const ForeignHeader&) {
          has_more_traces_ = recording_ != nullptr;
          return !has_more_traces_;
        }) {}

  Status run() {
    auto lines = LineSource::open(path_);
    if (!lines.ok()) return lines.error();
    while (!has_more_traces_) {
      if (stop_requested()) return interrupted_reading();
      const auto line = lines.value().next();
      if (!line.ok()) return line.error();
      if (!line.value()) break;
      if (Status taken = take(*line.value(), lines.value().line_number()); !taken.ok())
        return taken;
    }
    if (recording_ == nullptr)
      return Error{ErrorKind::invalid_input, fmt::format("{}: no trace is in it", path_)};
    return recording_->finish(SessionStatus::complete, "");
  }
  bool has_more_traces() const { return has_more_traces_; }
  // UntoldParts::words of the trace.
  const std::string& untold() const { return untold_; }

 private:
  Status take(PaddedLine text, std::int64_t number) {
    const auto taken = trace_.take(text, number);
    if (!taken.ok()) return taken.error();
    if (taken.value().step) {
      untold_ = trace_.trace_judge().untold().words();
      const auto kept = recording_->take(*taken.value().step);
      return kept.ok() ? Ok{} : Status(kept.error());
    }
    if (taken.value().kind != TraceLine::header || !trace_.has_begun()) return Ok{};
    auto recording =
        begin_trace_recording(trace_, text.text, RecordLevel::full,
                              {.place = place_, .program = "hybridscope", .committed = {}});
    if (!recording.ok()) return recording.error();
    recording_ = std::move(recording).value();
    return Ok{};
  }

  std::string path_;
  SessionPlace place_;
  JudgedTrace trace_;
  std::unique_ptr<SessionSink> recording_;
  bool has_more_traces_ = false;
  std::string untold_;
};

}  // namespace

Result<std::unique_ptr<ShownRun>> open_trace(const std::string& path) {
  auto folder = TemporaryFolder::make();
  if (!folder.ok()) return folder.error();
  const SessionPlace place{.file = folder.value()->file("judged.db"), .name = "trace"};
  FirstTrace trace(path, place);
  if (Status done = trace.run(); !done.ok()) return done.error();
  std::string title = path;
  if (trace.has_more_traces()) title += " (the first trace of several)";
  if (!trace.untold().empty()) title += " (not judged in full: " + trace.untold() + ")";
  auto run = RecordedRun::open(
      place, {.title = std::move(title), .file_owner = std::move(folder).value()});
  if (!run.ok()) return run.error();
  return std::unique_ptr<ShownRun>(std::move(run).value());
}

}  // namespace hybridscope
