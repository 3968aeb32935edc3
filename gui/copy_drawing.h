// A state copy as arrows between columns of a request's block table.
#pragma once

#include <string>

#include "gui/model/state_copies_model.h"
#include "gui/panel.h"

namespace hybridscope {

// Its width in pixels.
float copy_columns_width(const Look& look, const StateCopyDrawing& drawing);
// Cells of the request's row; above them an arrow for the temporal state, below them one for the
// conv window. A click on a cell selects it.
void draw_copy_columns(PanelContext& context, const StateCopyDrawing& drawing,
                       const std::string& request);

}  // namespace hybridscope
