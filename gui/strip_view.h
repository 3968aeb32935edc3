// Draws strips below each other, their titles on the left.
#pragma once

#include <vector>

#include "gui/model/picture.h"
#include "gui/panel.h"

namespace hybridscope {

void draw_strips(PanelContext& context, const std::vector<Strip>& strips);

}  // namespace hybridscope
