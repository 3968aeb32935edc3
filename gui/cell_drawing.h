// Draws the cell of a block, the same in every panel.
#pragma once

#include <imgui.h>

#include <string_view>

#include "gui/cell_layout.h"
#include "gui/look.h"
#include "gui/model/block_cell.h"

namespace hybridscope {

// Fill, pattern, the text, and marks for state and change beside or below it.
void draw_cell(ImDrawList& list, const Look& look, const CellBox& box, const BlockCell& cell,
               std::string_view text);
// Draws a cell that is no block, with fill, pattern and text of a style.
void draw_filled(ImDrawList& list, const Look& look, const CellBox& box, const CellStyle& style,
                 std::string_view text);
// The cell in a few pixels: its colour as one pixel of a texture.
ImU32 cell_pixel(const Look& look, const BlockCell& cell);
// Marks that such a pixel lacks, for pixels that are drawn larger: changed, unwritten.
void draw_small_marks(ImDrawList& list, const CellBox& box, const BlockCell& cell);
// Lines across a box whose block is not there.
void draw_missing(ImDrawList& list, const Look& look, const CellBox& box);
// The corner that says "changed in this step".
void draw_changed_corner(ImDrawList& list, const Look& look, const CellBox& box);
// A frame: thick for "selected", thin for "the same block as the selected one", dashed for "differs
// from the other run".
enum class FrameKind : std::uint8_t { selected, same_block, differs };
void draw_frame(ImDrawList& list, const Look& look, const CellBox& box, FrameKind kind);
// Draws a frame around the row of a table whose first cell was drawn last, over all its columns.
void draw_row_differs(const Look& look);
// A sample of a role with its name: first in a line, or after the last item if there is room.
enum class SamplePlace : std::uint8_t { first, next };
void draw_role_sample(const Look& look, CellRole role, std::string_view words, SamplePlace place);
void draw_changed_sample(const Look& look, std::string_view meaning, SamplePlace place);
// A sample of each role with its name and of each mark with its meaning: side by side, or one per
// line.
enum class LegendShape : std::uint8_t { lines, column };
void draw_cell_legend(const Look& look, LegendShape shape);
// The badges of states alone; `first`: the place of the first one.
void draw_state_legend(const Look& look, LegendShape shape, SamplePlace first);
// The badge of one state, with its meaning.
void draw_state_sample(const Look& look, CellState state, SamplePlace place);
// What a cell's role and badge mean.
void cell_tooltip(const Look& look, const BlockCell& cell);

}  // namespace hybridscope
