#include "cli/run_recording.h"

#include <utility>

#include "sessions/record/session_plan.h"

namespace hybridscope {

Result<std::unique_ptr<RecordedSession>> begin_run_recording(const RecordOption& option,
                                                             const SessionPlace& place,
                                                             const std::string& source,
                                                             ReportedRun& run) {
  const RunPlan& plan = run.plan();
  SessionHeader header = run_header(plan, run.scope());
  header.source = source;
  header.language = run.language();
  auto begun = RecordedSession::begin(option, place, std::move(header), run.names());
  if (begun.ok() && begun.value()->level() == RecordLevel::full) run.log_writes();
  return begun;
}

Status end_run_recording(RecordedSession& session, const ReportedRun& run, const EarlyEnd& end) {
  if (!end.refused.empty()) return session.finish(SessionStatus::failed, end.refused);
  if (end.interrupted) return session.finish(SessionStatus::interrupted, run.why_stopped(end));
  if (run.finished()) return session.finish(SessionStatus::complete, "");
  return session.finish(SessionStatus::stopped, run.why_stopped(end));
}

}  // namespace hybridscope
