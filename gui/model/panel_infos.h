// The table of the panels: a panel is its picture (picture.h), made by a function of its model, and
// a row of this table. gui/panels draws those that are more than tables; pages for a browser
// (gui/web) use the same names.
#pragma once

#include <vector>

#include "gui/model/view_state.h"

namespace hybridscope {

// In the order of the menu.
std::vector<PanelInfo> panel_infos();

}  // namespace hybridscope
