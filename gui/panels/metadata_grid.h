// One array with all its values, as a grid with row and column numbers.
#pragma once

#include "gui/model/metadata_model.h"
#include "gui/panel.h"

namespace hybridscope {

// Into the rest of the current window.
void draw_metadata_grid(PanelContext& context, const MetadataSection& section,
                        const MetadataArray& array);

}  // namespace hybridscope
