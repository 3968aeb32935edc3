#include "sessions/job/trace_file.h"

#include <string>
#include <utility>

#include "sessions/judge/trace_writer.h"
#include "sessions/text/output_file.h"

namespace hybridscope {
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

}  // namespace hybridscope
