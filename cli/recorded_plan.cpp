#include "cli/recorded_plan.h"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

#include "cli/report_error.h"
#include "sessions/job/right_command.h"
#include "sessions/record/session_plan.h"

namespace hybridscope {

Result<RecordedPlan> open_recorded_plan(std::string_view text) {
  RecordedPlan recorded;
  recorded.place = parse_session_place(text);
  auto file = SessionFile::open(recorded.place.file, FileAccess::read);
  if (!file.ok()) return name_right_command("sessions", std::string(text), file.error());
  auto info = file.value().find(recorded.place.name);
  if (!info.ok()) return info.error();
  recorded.info = std::move(info).value();
  const SessionHeader& header = recorded.info.header;
  recorded.place.name = header.name;
  const std::string title = fmt::format("{}:{}", recorded.place.file, header.name);
  if (header.kind == SessionKind::judge)
    return invalid_input(
        fmt::format("{} holds the decisions of another engine ({}), which cannot be run again here",
                    title, header.source));
  auto plan = read_session_plan(header.plan, title);
  if (!plan.ok()) return plan.error();
  recorded.plan = std::move(plan).value();
  return recorded;
}

bool takes_file_alone(std::string_view command, const std::string& text) {
  const SessionPlace place = parse_session_place(text);
  if (place.name.empty()) return true;
  report_message(command, fmt::format("{}: takes a file without a session's name, expected {}",
                                      text, place.file));
  return false;
}

int fail_sessions(std::string_view command, const Error& error) {
  return report_error(fmt::format("sessions {}", command), error);
}

}  // namespace hybridscope
