#include "sessions/job/run_files.h"

#include <utility>

#include "sessions/record/session_plan.h"

namespace hybridscope {

Result<StepFiles> begin_run_files(const RunOptions& options, const ReportedRun& run) {
  const auto header = [&]() -> Result<SessionHeader> {
    SessionHeader of = run_header(run.plan(), run.scope());
    of.source = options.scenario.empty() ? options.traffic : options.scenario;
    of.language = run.language();
    return of;
  };
  return StepFiles::begin(
      {.record = options.record, .trace = options.trace},
      {.header = header, .names = run.names(), .engine = &run.engine(), .plan = &run.plan()});
}

StepsEnd steps_end(const ReportedRun& run, const EarlyEnd& end) {
  if (!end.refused.empty()) return {.status = SessionStatus::failed, .reason = end.refused};
  if (end.interrupted)
    return {.status = SessionStatus::interrupted, .reason = run.why_stopped(end)};
  if (run.finished()) return {};
  return {.status = SessionStatus::stopped, .reason = run.why_stopped(end)};
}

}  // namespace hybridscope
