#include "gui/model/open_trace.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "gui/model/recorded_run.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/judge/trace_judge.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/record/step_recorder.h"
#include "sessions/text/line_source.h"
#include "storage/session_writer.h"

namespace hybridscope {
namespace {

// A folder that goes with the object.
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
      : path_(std::move(path)), place_(std::move(place)), reader_(path_) {}

  Status run() {
    auto lines = LineSource::open(path_);
    if (!lines.ok()) return lines.error();
    while (!is_over_) {
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
  bool has_more_traces() const { return is_over_; }

 private:
  Status take(PaddedLine text, std::int64_t number) {
    const auto kind = reader_.read_line(text, number);
    if (!kind.ok()) return kind.error();
    if (kind.value() == TraceLine::header) {
      is_over_ = writer_ != nullptr;
      return is_over_ ? Status(Ok{}) : begin(text.text, number);
    }
    return kind.value() == TraceLine::step ? judge(number) : Status(Ok{});
  }

  Error at_line(const Error& error, std::int64_t number) const {
    return {error.kind, fmt::format("{}:{}: {}", path_, number, error.message)};
  }

  Status begin(std::string_view text, std::int64_t number) {
    const ForeignHeader& foreign = reader_.header();
    auto judge = TraceJudge::create(foreign);
    if (!judge.ok()) return at_line(judge.error(), number);
    judge_.emplace(std::move(judge).value());
    judge_->log_writes();
    const auto name_of = [this](RequestId request) { return reader_.name_of(request); };
    names_ = make_names(foreign.config.kv_cache_config, name_of);
    names_.mamba_cache_mode = foreign.config.mamba_cache_mode;
    SessionHeader header;
    header.name = place_.name;
    header.kind = SessionKind::judge;
    header.level = RecordLevel::full;
    header.source = path_;
    header.engine = foreign.engine;
    header.plan = text;
    header.config = foreign.config;
    recorder_.emplace(header.config, header.level, name_of);
    auto writer = SessionWriter::begin(place_, header,
                                       {.program = "hybridscope",
                                        .request_name = name_of,
                                        .finding_text = [this](const Finding& finding) {
                                          return explain_finding(finding, names_);
                                        }});
    if (!writer.ok()) return writer.error();
    writer_ = std::move(writer).value();
    return Ok{};
  }

  Status judge(std::int64_t number) {
    const auto step = judge_->judge(reader_.step(), CheckScope::step);
    if (!step.ok()) return at_line(step.error(), number);
    const JudgedStep& judged = step.value();
    recorder_->record(judged.trace, judged.findings, judged.writes, writer_->next_record());
    return writer_->push();
  }

  std::string path_;
  SessionPlace place_;
  TraceReader reader_;
  std::optional<TraceJudge> judge_;
  std::optional<StepRecorder> recorder_;
  Names names_;
  std::unique_ptr<SessionWriter> writer_;
  bool is_over_ = false;  // another trace begins
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
