// What requests did in the steps around the shown one: one lane per request, one column per step.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"

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

// The scrub bar as columns of pixels: the steps of each, and what happened in them.

// The lanes, from the top.
enum class RulerLane : std::uint8_t { bookmarks, findings, preemptions, evictions, copies };
inline constexpr std::array<std::string_view, 5> kRulerLanes = {
    "bookmarks", "findings", "preemptions", "evictions", "copies"};

// What happened in at least one of the steps from `first` to `last`.
struct RulerColumn {
  std::int64_t first = 0;
  std::int64_t last = 0;
  StepMark marks;
  bool bookmarked = false;
};

// At most `width` columns over all known steps, in their order; fewer where there are fewer steps.
// Bookmarks of unknown steps are left out.
std::vector<RulerColumn> make_ruler(const ShownRun& run, std::int32_t width);

bool has(const RulerColumn& column, RulerLane lane);
// "Step 3", "Steps 3 to 7".
std::string column_words(const RulerColumn& column);

// The bookmarks of one column, one per line: "bookmark at step 3: the first wrong copy".
std::string bookmark_words(const ShownRun& run, std::span<const RulerColumn> columns,
                           std::size_t column);

// The column that has the step; -1: none.
std::int32_t ruler_column_of(std::span<const RulerColumn> columns, std::int64_t step);

}  // namespace hybridscope
