#include "sessions/job/step_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

#include "sessions/job/version.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/text/number_words.h"
#include "sessions/text/output_file.h"
#include "sessions/text/shown_text.h"
#include "storage/session_file.h"
#include "storage/session_writer.h"

namespace hybridscope {
namespace {

// Begins a file of steps; null: the options ask for none.
using BeginStepFile = Result<std::unique_ptr<StepFile>> (*)(const StepFileOptions& options,
                                                            const StepFileSource& source);

constexpr BeginStepFile kStepFiles[] = {begin_trace_file, begin_recorded_session};

}  // namespace

Result<StepFiles> StepFiles::begin(const StepFileOptions& options, const StepFileSource& source) {
  StepFiles files;
  for (const BeginStepFile begin : kStepFiles) {
    auto file = begin(options, source);
    if (!file.ok()) return file.error();
    if (file.value() != nullptr) files.files_.push_back(std::move(file).value());
  }
  return files;
}

bool StepFiles::wants_writes() const {
  return std::ranges::any_of(files_, [](const auto& file) { return file->wants_writes(); });
}

Result<Going> StepFiles::take(const CheckedStep& step) {
  for (const auto& file : files_)
    if (const auto taken = file->take(step); !taken.ok()) {
      failed_ = true;
      return taken;
    }
  return Going::on;
}

Status StepFiles::finish(const StepsEnd& end) {
  StepsEnd ended = end;
  ended.files_failed = failed_;
  Status first = Ok{};
  for (const auto& file : files_)
    if (const Status finished = file->finish(ended); first.ok()) first = finished;
  files_.clear();
  return first;
}

namespace {

std::string file_size_words(const std::string& file) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  if (error) return "size unknown";
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

class RecordedSession final : public StepFile {
 public:
  RecordedSession(const RecordOption& option, std::string file, std::unique_ptr<SessionSink> sink)
      : tell_(option.tell), file_(std::move(file)), sink_(std::move(sink)) {}

  bool wants_writes() const override { return sink_->wants_writes(); }
  Result<Going> take(const CheckedStep& step) override { return sink_->take(step); }
  Status finish(const StepsEnd& end) override {
    if (Status finished = sink_->finish(end.status, end.reason); !finished.ok()) return finished;
    if (tell_)
      tell_(fmt::format("recorded {} as \"{}\" in {} ({})", counted(sink_->num_steps(), "step"),
                        one_line(sink_->name()), one_line(file_), file_size_words(file_)));
    return Ok{};
  }

 private:
  std::function<void(const std::string&)> tell_;
  std::string file_;
  std::unique_ptr<SessionSink> sink_;
};

}  // namespace

Result<std::unique_ptr<StepFile>> begin_recorded_session(const StepFileOptions& options,
                                                         const StepFileSource& source) {
  const RecordOption& option = options.record;
  if (option.place.empty()) return std::unique_ptr<StepFile>();
  SessionPlace place = parse_session_place(option.place);
  if (!place.name.empty()) place.name += source.suffix;
  auto header = source.header();
  if (!header.ok()) return header.error();
  header.value().level = option.level;
  auto sink = SessionSink::begin(std::move(header).value(), source.names,
                                 {.place = place,
                                  .program = std::string("hybridscope ") + kVersion,
                                  .committed = option.committed});
  if (!sink.ok()) return sink.error();
  if (option.begun) option.begun({.file = place.file, .name = sink.value()->name()});
  return std::unique_ptr<StepFile>(
      std::make_unique<RecordedSession>(option, place.file, std::move(sink).value()));
}

namespace {

// However the run ends, the steps that it had are a trace; where a file fails there is none.
class TraceFile final : public StepFile {
 public:
  TraceFile(OutputFile file, TraceWriter writer)
      : file_(std::move(file)), writer_(std::move(writer)) {}

  Result<Going> take(const CheckedStep& step) override {
    if (const Status written = file_.write(writer_.step(step.trace) + '\n'); !written.ok())
      return written.error();
    return Going::on;
  }
  Status finish(const StepsEnd& end) override {
    if (end.files_failed) return Ok{};
    return file_.finish();
  }

 private:
  OutputFile file_;
  TraceWriter writer_;
};

}  // namespace

Result<std::unique_ptr<StepFile>> begin_trace_file(const StepFileOptions& options,
                                                   const StepFileSource& source) {
  if (options.trace.empty()) return std::unique_ptr<StepFile>();
  auto file = OutputFile::create(options.trace);
  if (!file.ok()) return file.error();
  TraceWriter writer(source.engine->config(), traced_requests_of(*source.engine));
  const std::string header = writer.header(source.plan->name, source.plan->settings.policies);
  if (const Status written = file.value().write(header + '\n'); !written.ok())
    return written.error();
  return std::unique_ptr<StepFile>(
      std::make_unique<TraceFile>(std::move(file).value(), std::move(writer)));
}

std::vector<OutputTarget> outputs_of(const StepFileOptions& options) {
  return {{"--trace", options.trace}, recording(options.record.place)};
}

std::string_view file_of_one_run(const StepFileOptions& options) {
  for (const OutputTarget& file : outputs_of(options))
    if (!file.path.empty() && file.use == FileUse::whole) return file.option;
  return {};
}

OutputTarget document(std::string_view option, bool is_asked_for) {
  return {.option = option, .path = is_asked_for ? "-" : ""};
}

OutputTarget recording(const std::string& place) {
  return {.option = "--record",
          .path = place.empty() ? "" : parse_session_place(place).file,
          .use = FileUse::session};
}

InputFile session_input(const std::string& place) {
  return {.what = "the session file",
          .path = place.empty() ? "" : parse_session_place(place).file,
          .use = FileUse::session};
}

Result<std::optional<OutputFile>> open_output(const std::string& path) {
  if (path.empty()) return std::optional<OutputFile>();
  auto file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  return std::optional<OutputFile>(std::move(file).value());
}

std::FILE* text_stream(const std::vector<OutputTarget>& outputs) {
  return std::ranges::any_of(outputs, is_on_standard_output) ? stderr : stdout;
}

}  // namespace hybridscope
