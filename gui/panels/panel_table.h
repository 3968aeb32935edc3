// What draws each panel: its own drawing code, which has a row in panel_table.cpp, or its picture.
#pragma once

#include <memory>

#include "gui/model/view_state.h"
#include "gui/panel.h"

namespace hybridscope {

// Requires: the panel has drawing code or PanelInfo::make.
std::unique_ptr<Panel> make_panel(const PanelInfo& info);

}  // namespace hybridscope
