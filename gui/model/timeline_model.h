// What requests did in the steps around the shown one: one lane per request, one column per step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/facts.h"
#include "gui/model/panel_options.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

class Workbench;

struct TimelineColumn {
  std::int64_t step = 0;            // the frame that was scheduled
  std::int64_t committed_step = 0;  // the frame that returned; 0: none
  bool known = false;
  bool is_shown = false;  // the step that the other panels show
};

struct TimelineLane {
  RequestId request{};
  std::string name;
};

struct TimelineCell {
  bool is_there = false;  // the request takes part in the step
  std::string text;       // "8", "1/2", "P"; empty: only a frame returned
  RequestActivity activity;
};

struct TimelineModel {
  std::vector<TimelineColumn> columns;
  std::vector<TimelineLane> lanes;  // ascending; requests that take part in any of the steps
  std::vector<TimelineCell> cells;  // [lanes * columns]
  bool asynchronous = false;        // a frame returns in another step than it was scheduled in
  bool complete = true;             // false: some steps are still to be read
  bool goes_on = false;             // behind the last column more steps can come
  std::string known;                // "12 steps so far, more can come"
  std::string note;                 // what is not shown; empty: nothing

  const TimelineCell& at(std::size_t lane, std::size_t column) const {
    return cells[lane * columns.size() + column];
  }
};

// The word before the numbers of the frames that returned.
inline constexpr std::string_view kReturns = "returns";
inline constexpr std::string_view kNoLanes = "No request has a part in these steps.";

// Requires: run.step() > 0.
TimelineModel make_timeline_model(ShownRun& run, const TimelineOptions& options);

std::vector<Fact> describe_activity(const TimelineModel& model, std::size_t lane,
                                    std::size_t column);
// "prefill": in legends and tooltips.
std::string_view activity_name(ActivityKind kind);

// What the panel shows. Requires: a step is shown.
Picture timeline_picture(Workbench& workbench);

}  // namespace hybridscope
