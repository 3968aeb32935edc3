#include "gui/model/column_fit.h"

#include <algorithm>

namespace hybridscope {

ColumnFit fit_columns(std::span<const ColumnNeed> needs, float room) {
  float wanted = 0;
  float least = 0;
  float first_slack = 0;
  float slack = 0;
  for (const ColumnNeed& need : needs) {
    wanted += need.wanted;
    least += need.least;
    (need.is_first ? first_slack : slack) += need.wanted - need.least;
  }
  ColumnFit fit{.widths = {}, .fits = least <= room};
  const float missing = fit.fits ? std::max(wanted - room, 0.0F) : 0;
  const float first_share = first_slack > 0 ? std::min(missing / first_slack, 1.0F) : 0;
  const float share = slack > 0 ? std::max(missing - first_slack, 0.0F) / slack : 0;
  for (const ColumnNeed& need : needs)
    fit.widths.push_back(need.wanted -
                         (need.wanted - need.least) * (need.is_first ? first_share : share));
  return fit;
}

float whole_columns(std::span<const float> widths, const WholeColumns& in) {
  float width = 0;
  std::size_t shown = 0;
  for (const float column : widths) {
    const float next = column > 0 ? width + column + in.gap : width;
    if (next > in.room) break;
    width = next;
    ++shown;
  }
  return shown < in.least ? in.room : width;
}

}  // namespace hybridscope
