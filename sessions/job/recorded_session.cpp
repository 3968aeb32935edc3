#include "sessions/job/recorded_session.h"

#include <fmt/core.h>

#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

#include "sessions/job/version.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"
#include "storage/session_file.h"
#include "storage/session_sink.h"

namespace hybridscope {
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
  auto sink =
      SessionSink::begin(std::move(header).value(), source.names,
                         {.place = place, .program = std::string("hybridscope ") + kVersion});
  if (!sink.ok()) return sink.error();
  return std::unique_ptr<StepFile>(
      std::make_unique<RecordedSession>(option, place.file, std::move(sink).value()));
}

}  // namespace hybridscope
