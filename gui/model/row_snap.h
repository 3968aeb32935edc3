// Where a list of rows of different heights scrolls to, so that it begins with a whole row.
#pragma once

#include <cstddef>
#include <span>

namespace hybridscope {

// Pixels from the beginning of the list; `edges`: the tops of its rows and the end of the last one.
struct RowsToScroll {
  std::span<const float> edges{};
  std::size_t wanted = 0;  // the row to show; < edges.size() - 1
  float scroll = 0;        // the place that is at the top now
  float room = 0;          // that is visible
};

// The place to put at the top: the present one if the wanted row is seen as a whole and a row
// begins there; else the top of a row, so that the wanted one is seen, from its beginning if it is
// higher than the room. It may be beyond the last place to which a list without room below it can
// scroll.
float snapped_scroll(const RowsToScroll& rows);

}  // namespace hybridscope
