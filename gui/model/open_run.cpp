#include "gui/model/open_run.h"

#include <fmt/core.h>
#include <utility>

#include "gui/model/attachment.h"
#include "gui/model/live_run.h"
#include "gui/model/recorded_run.h"
#include "sessions/job/judge_session.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/lessons/lesson_reader.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/stop_request.h"
#include "sessions/traffic/load_traffic.h"

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
