#include "gui/model/row_snap.h"

#include <algorithm>

#include "core/base/check.h"

namespace hybridscope {

float snapped_scroll(const RowsToScroll& rows) {
  HS_EXPECT(rows.wanted + 1 < rows.edges.size());
  const float top = rows.edges[rows.wanted];
  const float bottom = rows.edges[rows.wanted + 1];
  if (top < rows.scroll || bottom - top > rows.room) return top;
  const float least = std::max(rows.scroll, bottom - rows.room);
  return *std::ranges::lower_bound(rows.edges, least - 0.5F);  // rows begin at whole pixels
}

}  // namespace hybridscope
