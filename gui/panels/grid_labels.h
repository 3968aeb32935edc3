// The names and column numbers of a block table. They stay at the edges of the window while the
// table scrolls below them.
#pragma once

#include <imgui.h>

#include "gui/panel.h"
#include "gui/panels/cell_metrics.h"

namespace hybridscope {

// The right edge of the names, on the screen.
float names_end(const CellMetrics& cells, ImVec2 origin);
// Call after the cells are drawn. `origin`: of the first cell. As many as fit are written.
void draw_grid_labels(PanelContext& context, const BlockTableGrid& grid, const CellMetrics& cells,
                      ImVec2 origin);

}  // namespace hybridscope
