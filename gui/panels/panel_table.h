// The table of panels that are drawn: a new one is a model in gui/model, a row in its panel_infos,
// a file here and one row.
#pragma once

#include <memory>
#include <string_view>

#include "gui/panel.h"

namespace hybridscope {

// Requires: panel_infos() has a panel of this id.
std::unique_ptr<Panel> make_panel(std::string_view id);

}  // namespace hybridscope
