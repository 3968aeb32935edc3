#include "gui/model/open_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "gui/model/attachment.h"
#include "gui/model/known_bugs_model.h"
#include "gui/model/live_run.h"
#include "gui/model/recorded_run.h"
#include "sessions/job/judge_session.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/lessons/lesson.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/input_file.h"
#include "sessions/text/number_words.h"
#include "sessions/traffic/load_traffic.h"
#include "storage/session_file.h"

namespace hybridscope {
namespace {

bool is_shipped(const std::string& place) {
  for (const std::string_view prefix : {kShippedPrefix, kBugPrefix, kHealthyPrefix})
    if (place.starts_with(prefix)) return true;
  return false;
}

bool names_session(const std::string& place) {
  if (is_shipped(place)) return false;
  const SessionPlace parsed = parse_session_place(place);
  return is_session_file_name(parsed.file) || !parsed.name.empty();
}

bool names_trace(const std::string& place) {
  return place.ends_with(".jsonl") || place.ends_with(".jsonl.zst");
}

Result<Scenario> scenario_of_bug(std::string_view name, bool faulty) {
  const auto exhibit = shipped_bug(name);
  if (!exhibit.ok()) return exhibit.error();
  Scenario scenario = faulty ? faulty_scenario(exhibit.value()) : healthy_scenario(exhibit.value());
  if (!faulty) scenario.name += " (healthy)";
  return scenario;
}

// The scenario in a file, or a built-in one.
Result<Scenario> scenario_at(std::string_view place) {
  if (place.starts_with(kShippedPrefix))
    return shipped_scenario(place.substr(kShippedPrefix.size()));
  if (place.starts_with(kBugPrefix)) return scenario_of_bug(place.substr(kBugPrefix.size()), true);
  if (place.starts_with(kHealthyPrefix))
    return scenario_of_bug(place.substr(kHealthyPrefix.size()), false);
  return read_scenario_file(std::string(place));
}

template <class Run>
Result<std::unique_ptr<ShownRun>> shown(Result<std::unique_ptr<Run>> run) {
  if (!run.ok()) return run.error();
  return std::unique_ptr<ShownRun>(std::move(run).value());
}

}  // namespace

bool is_traffic(const std::string& path) { return recognise_traffic_file(path) != nullptr; }

Result<std::unique_ptr<ShownRun>> open_traffic(const std::string& path) {
  auto traffic = load_traffic(path, {});
  if (!traffic.ok()) return traffic.error();
  auto plan = plan_traffic(std::move(traffic).value(),
                           {.name = path, .model = kDefaultTrafficModel, .settings = {}});
  if (!plan.ok()) return plan.error();
  return shown(LiveRun::create(std::move(plan).value()));
}

Result<std::unique_ptr<ShownRun>> open_run(const std::string& place) {
  if (names_session(place)) return shown(RecordedRun::open(parse_session_place(place)));
  if (is_traffic(place)) return open_traffic(place);
  if (names_trace(place)) return open_trace(place);
  auto scenario = scenario_at(place);
  if (!scenario.ok()) return scenario.error();
  auto plan = plan_scenario(scenario.value(), place);
  if (!plan.ok()) return plan.error();
  return shown(LiveRun::create(std::move(plan).value()));
}

InputFile opened_file(const std::string& place) {
  constexpr std::string_view kWhat = "a file that was opened,";
  if (is_shipped(place)) return {.what = kWhat, .path = {}};
  if (!names_session(place)) return {.what = kWhat, .path = place};
  return {.what = kWhat, .path = parse_session_place(place).file, .use = FileUse::session};
}

Result<std::unique_ptr<ShownRun>> open_trace(const std::string& path) {
  auto folder = TemporaryFolder::make();
  if (!folder.ok()) return folder.error();
  const SessionPlace place{.file = folder.value()->file("judged.db"), .name = "trace"};
  const JudgeOptions options{
      .input = path,
      .only_first = true,
      .finds_causes = false,
      .files = {.record = {.place = place.file + ":" + place.name, .level = RecordLevel::full}}};
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

Table sessions_table(const std::vector<SessionChoice>& choices) {
  static constexpr std::array<ColumnWords, 5> kColumns = {{{"Session", "", ColumnKind::name},
                                                           {"Status", "", ColumnKind::words},
                                                           {"Level", "", ColumnKind::words},
                                                           {"Steps"},
                                                           {"Findings"}}};
  Table table{.title = "Sessions", .headings = headings_of(kColumns)};
  for (const SessionChoice& choice : choices) {
    TableRow row{words_cell(choice.name), words_cell(choice.status), words_cell(choice.level),
                 number_cell(choice.num_steps), number_cell(choice.num_findings)};
    row.mark = "session " + choice.name;
    row.clicks = {{"view.close_dialog"}, {"file.open", choice.place}};
    table.rows.push_back(std::move(row));
  }
  return table;
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
