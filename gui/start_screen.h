// What the window shows while nothing is open.
#pragma once

#include "gui/panel.h"

namespace hybridscope {

void draw_start_screen(PanelContext& context, float height);

}  // namespace hybridscope
