// Draws what a cell of a table has besides its value: buttons, lists to choose from, values in
// pieces, bars.
#pragma once

#include <imgui.h>

#include <string>

#include "gui/model/picture.h"
#include "gui/panel.h"

namespace hybridscope {

// A button, a check box or a list that drops down.
bool takes_clicks(const TableCell& cell);
// Pixels that the cell wants. `text`: its value as it is shown.
float cell_width(const Look& look, ImFont* font, const TableCell& cell, const std::string& text);
// A line that stands above the words of a cell.
void draw_line_above(PanelContext& context, const TableCell& line);
// At the cursor. `wraps`: pieces take as many lines as they need. False: the value is not drawn
// yet.
bool draw_extras(PanelContext& context, const TableCell& cell, bool wraps);

}  // namespace hybridscope
