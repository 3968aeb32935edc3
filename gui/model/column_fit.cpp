#include "gui/model/column_fit.h"

namespace hybridscope {

ColumnFit fit_columns(std::span<const ColumnNeed> needs, float room) {
  float wanted = 0;
  float least = 0;
  for (const ColumnNeed& need : needs) {
    wanted += need.wanted;
    least += need.least;
  }
  ColumnFit fit{.widths = {}, .fits = least <= room};
  const float slack = wanted - least;
  const float missing = fit.fits ? wanted - room : 0;
  const float share = missing > 0 && slack > 0 ? missing / slack : 0;
  for (const ColumnNeed& need : needs)
    fit.widths.push_back(need.wanted - (need.wanted - need.least) * share);
  return fit;
}

}  // namespace hybridscope
