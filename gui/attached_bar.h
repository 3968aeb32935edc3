// The line about the attached engine, above the run bar.
#pragma once

#include "gui/panel.h"

namespace hybridscope {

// Requires: an engine is attached.
void draw_attached_bar(PanelContext& context);
// In place of panels, before the first step has come.
void draw_waiting(PanelContext& context);

}  // namespace hybridscope
