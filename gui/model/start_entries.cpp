#include "gui/model/start_entries.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "gui/model/known_bugs_model.h"
#include "gui/model/open_run.h"
#include "sessions/lessons/lesson_reader.h"
#include "sessions/text/number_words.h"
#include "storage/session_file.h"

namespace hybridscope {

namespace {

namespace fs = std::filesystem;

// A list of files must not wait for a program that writes to one of them.
constexpr std::int64_t kPatienceMs = 50;

std::string steps_words(const SessionInfo& info) {
  const std::string steps = counted(info.num_steps, "step");
  if (info.status == SessionStatus::complete) return steps;
  if (info.status == SessionStatus::recording)
    return fmt::format("being recorded, {} so far", steps);
  return fmt::format("{} after {}", session_status_name(info.status), steps);
}

std::string sessions_words(const std::vector<SessionInfo>& sessions) {
  std::string words = counted(static_cast<std::int64_t>(sessions.size()), "session");
  for (const SessionStatus status : {SessionStatus::recording, SessionStatus::stopped,
                                     SessionStatus::interrupted, SessionStatus::failed})
    if (const auto count = std::ranges::count(sessions, status, &SessionInfo::status); count > 0)
      words += fmt::format(", {} {}", count, session_status_name(status));
  return words;
}

// What the list says of a session's state; empty: it is no session file, or it cannot be read now.
std::string state_of(const std::string& path) {
  const SessionPlace place = parse_session_place(path);
  if (!is_session_file_name(place.file)) return {};
  const auto file = SessionFile::open(place.file, FileAccess::read, kPatienceMs);
  if (!file.ok()) return {};
  const auto sessions = file.value().sessions();
  if (!sessions.ok()) return {};
  if (place.name.empty() && sessions.value().size() != 1) return sessions_words(sessions.value());
  for (const SessionInfo& info : sessions.value())
    if (place.name.empty() || info.header.name == place.name) return steps_words(info);
  return {};
}

}  // namespace

std::vector<SessionChoice> session_choices(const std::string& place) {
  std::vector<SessionChoice> choices;
  const SessionPlace parsed = parse_session_place(place);
  if (!parsed.name.empty() || !is_session_file_name(parsed.file)) return choices;
  const auto file = SessionFile::open(parsed.file, FileAccess::read);
  if (!file.ok()) return choices;
  const auto sessions = file.value().sessions();
  if (!sessions.ok()) return choices;
  for (const SessionInfo& info : sessions.value())
    choices.push_back({.name = info.header.name,
                       .place = fmt::format("{}:{}", parsed.file, info.header.name),
                       .level = std::string(record_level_name(info.header.level)),
                       .status = std::string(session_status_name(info.status)),
                       .num_steps = info.num_steps,
                       .num_findings = info.num_errors + info.num_warnings});
  std::ranges::reverse(choices);
  return choices;
}

std::string other_sessions_words(const std::vector<SessionChoice>& choices) {
  if (choices.size() < 2) return {};
  std::string names;
  for (std::size_t i = 1; i < choices.size(); ++i)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", choices[i].name);
  return fmt::format("; {} in the file: {} (open FILE.db:NAME)",
                     choices.size() == 2 ? "one more session" : "more sessions", names);
}

std::vector<StartEntry> scenario_entries() {
  std::vector<StartEntry> entries;
  for (const std::string_view name : shipped_scenario_names()) {
    const auto scenario = shipped_scenario(name);
    if (scenario.ok())
      entries.push_back({scenario.value().name, scenario.value().teaches,
                         std::string(kShippedPrefix) + std::string(name)});
  }
  return entries;
}

std::vector<StartEntry> lesson_entries() {
  std::vector<StartEntry> entries;
  for (const std::string_view name : shipped_lesson_names()) {
    const auto lesson = shipped_lesson(name);
    if (lesson.ok())
      entries.push_back({lesson.value().title, lesson.value().teaches, std::string(name)});
  }
  return entries;
}

std::vector<StartEntry> known_bug_entries() {
  std::vector<StartEntry> entries;
  for (const KnownBugRow& row : make_known_bugs_model())
    entries.push_back({row.title,
                       fmt::format("{}{}; V1: {}; V2: {}", row.number.empty() ? "" : "No. ",
                                   row.number.empty() ? row.id : row.number, row.v1, row.v2),
                       row.id});
  return entries;
}

std::vector<StartEntry> recent_entries(const std::vector<std::string>& recent_files) {
  std::vector<StartEntry> entries;
  for (const std::string& path : recent_files) {
    if (path.starts_with(kShippedPrefix)) {
      entries.push_back({path.substr(kShippedPrefix.size()), {}, path});
      continue;
    }
    std::error_code ignored;
    const std::string file = parse_session_place(path).file;
    if (!fs::exists(path, ignored) && !fs::exists(file, ignored)) continue;
    const std::string state = state_of(path);
    entries.push_back({fs::path(path).filename().string(),
                       state.empty() ? state : fmt::format("{}; {}", state, path), path});
  }
  return entries;
}

}  // namespace hybridscope
