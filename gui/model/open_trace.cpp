#include "gui/model/open_trace.h"

#include <fmt/core.h>

#include <utility>

#include "gui/model/recorded_run.h"
#include "gui/model/temporary_folder.h"
#include "sessions/job/judge_session.h"
#include "sessions/text/stop_request.h"

namespace hybridscope {

Result<std::unique_ptr<ShownRun>> open_trace(const std::string& path) {
  auto folder = TemporaryFolder::make();
  if (!folder.ok()) return folder.error();
  const SessionPlace place{.file = folder.value()->file("judged.db"), .name = "trace"};
  const JudgeOptions options{
      .input = path,
      .only_first = true,
      .finds_causes = false,
      .record = {.place = place.file + ":" + place.name, .level = RecordLevel::full}};
  auto lines = TraceInput::open(path, stop_requested);
  if (!lines.ok()) return lines.error();
  JudgeSession session(options);
  const Status judged = judge_lines(options, lines.value(), session, [&session] {
    return !stop_requested() && !session.has_more_traces();
  });
  if (stop_requested()) return interrupted_reading();
  if (!judged.ok()) return judged.error();
  if (session.report().traces.empty())
    return Error{ErrorKind::invalid_input, fmt::format("{}: no trace is in it", path)};
  session.finish(SessionStatus::complete, "");
  if (session.file_failure()) return *session.file_failure();
  std::string title = path;
  if (session.has_more_traces()) title += " (the first trace of several)";
  if (const std::string& untold = session.report().traces.front().untold; !untold.empty())
    title += " (not judged in full: " + untold + ")";
  auto run = RecordedRun::open(
      place, {.title = std::move(title), .file_owner = std::move(folder).value()});
  if (!run.ok()) return run.error();
  return std::unique_ptr<ShownRun>(std::move(run).value());
}

}  // namespace hybridscope
