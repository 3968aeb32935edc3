// The conv window of a state copy, token by token: the source above the destination.
#pragma once

#include <string>

#include "gui/look.h"
#include "gui/model/state_copies_model.h"
#include "gui/panel.h"

namespace hybridscope {

// Its width in pixels.
float conv_copy_width(const Look& look, const StateCopyDrawing& drawing);
// A line for each position that moves.
void draw_conv_copy(const Look& look, const StateCopyDrawing& drawing);
// A sample of each kind of position that is drawn.
void draw_conv_legend(const Look& look, const StateCopyDrawing& drawing);

// A state copy as arrows between columns of a request's block table, and the copy of a whole block
// as an arrow between two blocks.

// Its width in pixels.
float copy_columns_width(const Look& look, const StateCopyDrawing& drawing);
// Cells of the request's row; above them an arrow for the temporal state, below them one for the
// conv window. A click on a cell selects it.
void draw_copy_columns(PanelContext& context, const StateCopyDrawing& drawing,
                       const std::string& request);
// The source, an arrow, the destination; above them where they are. A click on a block selects it.
void draw_block_copy(PanelContext& context, const BlockCopyDrawing& drawing);

}  // namespace hybridscope
