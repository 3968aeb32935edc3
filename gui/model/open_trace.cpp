#include "gui/model/open_trace.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "gui/model/recorded_run.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/step_recorder.h"
#include "sessions/text/line_source.h"
#include "storage/session_writer.h"

namespace hybridscope {
namespace {

// A folder that is deleted with the object.
class TemporaryFolder {
 public:
  static Result<std::shared_ptr<TemporaryFolder>> make() {
    std::error_code failure;
    const std::filesystem::path base = std::filesystem::temp_directory_path(failure);
    std::string name = (base / "hybridscope-XXXXXX").string();
    if (failure || ::mkdtemp(name.data()) == nullptr)
      return Error{ErrorKind::io, fmt::format("{}: no folder can be made there", base.string())};
    return std::shared_ptr<TemporaryFolder>(new TemporaryFolder(name));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Judges the first trace of a file, step by step, into a session.
class TraceRecording {
 public:
  TraceRecording(std::string path, SessionPlace place)
      : path_(std::move(path)),
        place_(std::move(place)),
        trace_(path_, kScope, [this](const ForeignHeader&) {
          has_more_traces_ = writer_ != nullptr;
          return !has_more_traces_;
        }) {}

  Status run() {
    auto lines = LineSource::open(path_);
    if (!lines.ok()) return lines.error();
    while (!has_more_traces_) {
      const auto line = lines.value().next();
      if (!line.ok()) return line.error();
      if (!line.value()) break;
      if (Status taken = take(*line.value(), lines.value().line_number()); !taken.ok())
        return taken;
    }
    if (writer_ == nullptr)
      return Error{ErrorKind::invalid_input, fmt::format("{}: no trace is in it", path_)};
    return writer_->finish(SessionStatus::complete, "");
  }
  bool has_more_traces() const { return has_more_traces_; }

 private:
  Status take(PaddedLine text, std::int64_t number) {
    const auto taken = trace_.take(text, number);
    if (!taken.ok()) return taken.error();
    if (taken.value().step) return add(*taken.value().step);
    return taken.value().kind == TraceLine::header && trace_.has_begun() ? begin(text.text)
                                                                         : Status(Ok{});
  }

  Status begin(std::string_view text) {
    trace_.log_writes();
    const ForeignHeader& foreign = trace_.reader().header();
    const auto& name_of = trace_.names().request;
    SessionHeader header = judge_header({.source = path_,
                                         .engine = foreign.engine,
                                         .header_line = text,
                                         .config = foreign.config,
                                         .scope = kScope});
    header.name = place_.name;
    header.level = RecordLevel::full;
    recorder_.emplace(header.config, header.level, name_of);
    auto writer = SessionWriter::begin(place_, header,
                                       {.program = "hybridscope",
                                        .request_name = name_of,
                                        .finding_text = [this](const Finding& finding) {
                                          return explain_finding(finding, trace_.names());
                                        }});
    if (!writer.ok()) return writer.error();
    writer_ = std::move(writer).value();
    return Ok{};
  }

  Status add(const JudgedStep& step) {
    recorder_->record(step.trace, step.findings, step.writes, writer_->next_record());
    return writer_->push();
  }

  static constexpr CheckScope kScope = CheckScope::step;
  std::string path_;
  SessionPlace place_;
  JudgedTrace trace_;
  std::optional<StepRecorder> recorder_;
  std::unique_ptr<SessionWriter> writer_;
  bool has_more_traces_ = false;
};

}  // namespace

Result<std::unique_ptr<ShownRun>> open_trace(const std::string& path) {
  auto folder = TemporaryFolder::make();
  if (!folder.ok()) return folder.error();
  const SessionPlace place{.file = folder.value()->file("judged.db"), .name = "trace"};
  TraceRecording recording(path, place);
  if (Status done = recording.run(); !done.ok()) return done.error();
  auto run = RecordedRun::open(
      place, {.title = recording.has_more_traces() ? path + " (the first trace of several)" : path,
              .file_owner = std::move(folder).value()});
  if (!run.ok()) return run.error();
  return std::unique_ptr<ShownRun>(std::move(run).value());
}

}  // namespace hybridscope
