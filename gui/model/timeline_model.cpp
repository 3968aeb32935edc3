#include "gui/model/timeline_model.h"

#include <fmt/core.h>
#include <algorithm>
#include <map>

#include "gui/model/workbench.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMostLanes = 500;

std::string text_of(const RequestActivity& activity) {
  switch (activity.kind) {
    case ActivityKind::none: return {};
    case ActivityKind::prefill:
    case ActivityKind::decode: return fmt::format("{}", activity.num_tokens);
    case ActivityKind::verify:
      return fmt::format("{}/{}", activity.num_accepted_drafts, activity.num_draft_tokens);
    case ActivityKind::preempted: return "P";
    case ActivityKind::waiting: return "w";
    case ActivityKind::in_flight: return "f";
    case ActivityKind::held_back: return "-";
  }
  return {};
}

// Indices of known steps on both sides of the shown one, as far as there are any.
struct Window {
  std::size_t first = 0;
  std::size_t count = 0;
};
Window window_around(std::span<const StepMark> marks, std::int64_t step, std::int32_t wanted) {
  const std::ptrdiff_t here = std::max<std::ptrdiff_t>(mark_index(marks, step), 0);
  const auto known = static_cast<std::ptrdiff_t>(marks.size());
  const std::ptrdiff_t count = std::min<std::ptrdiff_t>(wanted, known);
  const std::ptrdiff_t first = std::clamp<std::ptrdiff_t>(here - count / 2, 0, known - count);
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(count)};
}

// Did the request run in the step and keep its blocks?
bool runs_on(const TimelineCell& cell) {
  const RequestActivity& activity = cell.activity;
  return cell.is_there && !activity.finished && activity.kind != ActivityKind::none &&
         activity.kind != ActivityKind::waiting && activity.kind != ActivityKind::preempted;
}

void add_lanes(const ShownRun& run, const std::vector<StepActivity>& steps, TimelineModel& model) {
  std::map<RequestId, std::size_t> lanes;
  for (const StepActivity& step : steps)
    for (const RequestActivity& activity : step.requests) lanes[activity.request] = 0;
  for (auto& [request, lane] : lanes) {
    lane = model.lanes.size();
    if (lane < kMostLanes) model.lanes.push_back({request, run.names().request(request)});
  }
  if (lanes.size() > kMostLanes)
    model.note = fmt::format("The first {} of {} requests.", kMostLanes, lanes.size());
  model.cells.resize(model.lanes.size() * model.columns.size());
  for (std::size_t column = 0; column < steps.size(); ++column)
    for (RequestActivity activity : steps[column].requests) {
      const std::size_t lane = lanes[activity.request];
      if (lane >= kMostLanes) continue;
      const std::size_t cell = lane * model.columns.size() + column;
      if (activity.kind == ActivityKind::waiting && column > 0 && runs_on(model.cells[cell - 1]))
        activity.kind = ActivityKind::held_back;
      model.cells[cell] = {true, text_of(activity), activity};
    }
}

}  // namespace

TimelineModel make_timeline_model(ShownRun& run, const TimelineOptions& options) {
  TimelineModel model;
  const Window window = window_around(run.marks(), run.step(), options.num_steps);
  const std::vector<StepActivity> steps = run.activities(window.first, window.count);
  for (const StepActivity& step : steps) {
    model.columns.push_back({.step = step.step,
                             .committed_step = step.committed_step,
                             .known = step.known,
                             .is_shown = step.step == run.step()});
    model.asynchronous =
        model.asynchronous || (step.committed_step > 0 && step.committed_step != step.step);
    model.complete = model.complete && step.known;
  }
  add_lanes(run, steps, model);
  model.known = known_steps_words(run);
  model.goes_on = !run.is_whole() && window.first + window.count == run.marks().size();
  if (run.level() == RecordLevel::counts)
    model.note = "This session was recorded without requests: that needs level blocks or full.";
  else if (!model.complete)
    model.note = "Steps marked ? are not kept or still being read.";
  return model;
}

std::string_view activity_name(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::none: return "no tokens";
    case ActivityKind::prefill: return "prefill";
    case ActivityKind::decode: return "decode";
    case ActivityKind::verify: return "verify";
    case ActivityKind::preempted: return "preempted";
    case ActivityKind::waiting: return "waiting";
    case ActivityKind::in_flight: return "in flight";
    case ActivityKind::held_back: return "running, no tokens";
  }
  return {};
}

std::vector<Fact> describe_activity(const TimelineModel& model, std::size_t lane,
                                    std::size_t column) {
  const TimelineColumn& step = model.columns[column];
  const TimelineCell& cell = model.at(lane, column);
  std::vector<Fact> facts{{"request", model.lanes[lane].name},
                          {"step", fmt::format("{}", step.step)}};
  if (!step.known) {
    facts.push_back({"not known", "the step is not kept or still being read"});
    return facts;
  }
  if (!cell.is_there) {
    facts.push_back({"no part", "it had no tokens and no frame of it returned"});
    return facts;
  }
  const RequestActivity& activity = cell.activity;
  if (activity.admitted)
    facts.push_back({"admitted", activity.resumed ? "again, after a preemption" : "new"});
  if (activity.num_tokens > 0)
    facts.push_back(
        {fmt::format("frame {} is scheduled", step.step),
         fmt::format("{}, {}, {} of them drafts", activity_name(activity.kind),
                     counted(activity.num_tokens, "token"), activity.num_draft_tokens)});
  else
    facts.push_back({"this step", std::string(activity_name(activity.kind))});
  if (activity.kind == ActivityKind::verify)
    facts.push_back({"accepted", fmt::format("{} of {} drafts", activity.num_accepted_drafts,
                                             activity.num_draft_tokens)});
  if (activity.returned)
    facts.push_back({fmt::format("frame {} returns", step.committed_step),
                     fmt::format("{}{}", counted(activity.num_returned, "output token"),
                                 activity.finished ? ", finished" : "")});
  return facts;
}

// Requests down, steps across; above them the frame that returned, if it is a different one.
Picture timeline_picture(Workbench& workbench) {
  const TimelineModel model = make_timeline_model(*workbench.run(), workbench.options().timeline);
  Picture content;
  add_note(content, model.known);
  add_note(content, model.note);
  if (model.lanes.empty()) add_note(content, kNoLanes);
  Table table{.title = "Steps", .headings = {"Request"}};
  for (const TimelineColumn& column : model.columns)
    table.headings.push_back(fmt::format("{}", column.step));
  if (model.asynchronous) {
    auto& cells = table.rows.emplace_back().cells;
    cells.push_back(words_cell(kReturns));
    for (const TimelineColumn& column : model.columns)
      cells.push_back(column.committed_step > 0 ? number_cell(column.committed_step) : TableCell());
  }
  for (std::size_t lane = 0; lane < model.lanes.size(); ++lane) {
    auto& cells = table.rows.emplace_back().cells;
    cells.push_back(words_cell(model.lanes[lane].name));
    for (std::size_t column = 0; column < model.columns.size(); ++column)
      cells.push_back(words_cell(model.columns[column].known ? model.at(lane, column).text : "?"));
  }
  content.tables.push_back(std::move(table));
  return content;
}

std::vector<RulerColumn> make_ruler(const ShownRun& run, std::int32_t width) {
  const auto marks = run.marks();
  const std::size_t count = std::min(marks.size(), static_cast<std::size_t>(std::max(width, 0)));
  std::vector<RulerColumn> columns(count);
  for (std::size_t c = 0; c < count; ++c) {
    const std::size_t begin = c * marks.size() / count;
    const std::size_t end = (c + 1) * marks.size() / count;
    columns[c].first = marks[begin].step;
    columns[c].last = marks[end - 1].step;
    for (const StepMark& mark : marks.subspan(begin, end - begin)) {
      StepMark& all = columns[c].marks;
      all.copies |= mark.copies;
      all.evicts |= mark.evicts;
      all.preempts |= mark.preempts;
      all.warns |= mark.warns;
      all.errs |= mark.errs;
    }
  }
  for (const ShownBookmark& bookmark : bookmarks_of_known_steps(run)) {
    const std::int32_t column = ruler_column_of(columns, bookmark.step);
    if (column >= 0) columns[static_cast<std::size_t>(column)].bookmarked = true;
  }
  return columns;
}

bool has(const RulerColumn& column, RulerLane lane) {
  switch (lane) {
    case RulerLane::bookmarks: return column.bookmarked;
    case RulerLane::findings: return column.marks.errs || column.marks.warns;
    case RulerLane::preemptions: return column.marks.preempts;
    case RulerLane::evictions: return column.marks.evicts;
    case RulerLane::copies: return column.marks.copies;
  }
  return false;
}

std::string column_words(const RulerColumn& column) {
  return column.last > column.first ? fmt::format("Steps {} to {}", column.first, column.last)
                                    : fmt::format("Step {}", column.first);
}

std::string bookmark_words(const ShownRun& run, std::span<const RulerColumn> columns,
                           std::size_t column) {
  std::string words;
  for (const ShownBookmark& bookmark : bookmarks_of_known_steps(run)) {
    if (ruler_column_of(columns, bookmark.step) != static_cast<std::int32_t>(column)) continue;
    if (!words.empty()) words += '\n';
    words += fmt::format("bookmark at step {}{}{}", bookmark.step,
                         bookmark.note.empty() ? "" : ": ", bookmark.note);
  }
  return words;
}

std::int32_t ruler_column_of(std::span<const RulerColumn> columns, std::int64_t step) {
  const auto behind = std::upper_bound(
      columns.begin(), columns.end(), step,
      [](std::int64_t wanted, const RulerColumn& column) { return wanted < column.first; });
  return static_cast<std::int32_t>(behind - columns.begin()) - 1;
}

}  // namespace hybridscope
