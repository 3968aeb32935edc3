#include "gui/model/trace_recording.h"

#include <chrono>
#include <utility>

#include "sessions/explain/explain_finding.h"
#include "sessions/record/session_plan.h"

namespace hybridscope {
namespace {

using Milliseconds = std::chrono::milliseconds;

// A step that somebody waits for is in the file after about this time, also when many come.
constexpr Milliseconds kWatchedPatience(20);
constexpr Milliseconds kWatchedTransaction(100);

}  // namespace

Result<std::unique_ptr<TraceRecording>> TraceRecording::begin(JudgedTrace& trace,
                                                              std::string_view header_line,
                                                              Options options) {
  const ForeignHeader& foreign = trace.reader().header();
  SessionHeader header = judge_header({.source = trace.file(),
                                       .engine = foreign.engine,
                                       .header_line = header_line,
                                       .config = foreign.config,
                                       .scope = kTraceCheckScope});
  header.name = options.place.name;
  header.level = options.level;
  if (header.level == RecordLevel::full) trace.log_writes();
  SessionWriter::Options writing{.program = std::move(options.program),
                                 .request_name = trace.names().request,
                                 .finding_text = [&trace](const Finding& finding) {
                                   return explain_finding(finding, trace.names());
                                 }};
  if (options.committed) {
    writing.patience = kWatchedPatience;
    writing.transaction = kWatchedTransaction;
    writing.committed = std::move(options.committed);
  }
  auto writer = SessionWriter::begin(options.place, header, std::move(writing));
  if (!writer.ok()) return writer.error();
  return std::unique_ptr<TraceRecording>(new TraceRecording(
      StepRecorder(header.config, header.level, trace.names().request), std::move(writer).value()));
}

Status TraceRecording::add(const JudgedStep& step) {
  recorder_.record(step.trace, step.findings, step.writes, writer_->next_record());
  return writer_->push();
}

Status TraceRecording::finish(SessionStatus status, const std::string& reason) {
  return writer_->finish(status, reason);
}

}  // namespace hybridscope
