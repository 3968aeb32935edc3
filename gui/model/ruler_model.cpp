#include "gui/model/ruler_model.h"

#include <fmt/core.h>

#include <algorithm>

namespace hybridscope {

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
    case RulerLane::bookmarks:
      return column.bookmarked;
    case RulerLane::findings:
      return column.marks.errs || column.marks.warns;
    case RulerLane::preemptions:
      return column.marks.preempts;
    case RulerLane::evictions:
      return column.marks.evicts;
    case RulerLane::copies:
      return column.marks.copies;
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
