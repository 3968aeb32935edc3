// The table of panels: a new one is a model in gui/model, a file here and one row.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "gui/panel.h"

namespace hybridscope {

// In the order of the menu.
std::vector<PanelInfo> panel_infos();
// Requires: there is a panel of this id.
std::unique_ptr<Panel> make_panel(std::string_view id);

}  // namespace hybridscope
