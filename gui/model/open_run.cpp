#include "gui/model/open_run.h"

#include <utility>

#include "gui/model/live_run.h"
#include "gui/model/open_trace.h"
#include "gui/model/open_traffic.h"
#include "gui/model/recorded_run.h"
#include "sessions/lessons/shipped_lessons.h"
#include "sessions/scenario_reader.h"

namespace hybridscope {

namespace {

bool names_session(const std::string& place) {
  if (place.starts_with(kShippedPrefix)) return false;
  const SessionPlace parsed = parse_session_place(place);
  return parsed.file.ends_with(".db") || !parsed.name.empty();
}

bool names_trace(const std::string& place) {
  return place.ends_with(".jsonl") || place.ends_with(".jsonl.zst");
}

}  // namespace

Result<std::unique_ptr<ShownRun>> open_run(const std::string& place) {
  if (names_session(place)) {
    auto recorded = RecordedRun::open(parse_session_place(place));
    if (!recorded.ok()) return recorded.error();
    return std::unique_ptr<ShownRun>(std::move(recorded).value());
  }
  if (names_trace(place)) return is_traffic(place) ? open_traffic(place) : open_trace(place);
  const bool is_shipped = place.starts_with(kShippedPrefix);
  auto scenario = is_shipped ? shipped_scenario(place.substr(kShippedPrefix.size()))
                             : read_scenario_file(place);
  if (!scenario.ok()) return scenario.error();
  auto plan = plan_scenario(scenario.value(), place);
  if (!plan.ok()) return plan.error();
  auto run = LiveRun::create(std::move(plan).value());
  if (!run.ok()) return run.error();
  return std::unique_ptr<ShownRun>(std::move(run).value());
}

}  // namespace hybridscope
