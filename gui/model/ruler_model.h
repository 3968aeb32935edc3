// The scrub bar as columns of pixels: the steps of each, and what happened in them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/shown_run.h"

namespace hybridscope {

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
