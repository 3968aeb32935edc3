// The panels of the window: their names, and what each shows. gui/panels draws them; pages of a
// browser (gui/web) use the same names.
#pragma once

#include <vector>

#include "gui/model/view_state.h"

namespace hybridscope {

// In the order of the menu.
std::vector<PanelInfo> panel_infos();

}  // namespace hybridscope
