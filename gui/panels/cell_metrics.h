// The size of the cells of a block table, which of them are visible, and the names at its edges.
#pragma once

#include <imgui.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "gui/cell_drawing.h"
#include "gui/look.h"
#include "gui/model/block_table_model.h"
#include "gui/panel.h"

namespace hybridscope {

// Points of scale 1.
inline constexpr float kReadableHeight = 21;
inline constexpr float kNumbersHeight = 16;  // of the row with column numbers
inline constexpr std::int32_t kMostFitHeight = 100;

// What determines the room for a grid's words; made once per step.
struct GridWords {
  float names = 0;  // pixels of the longest name
  std::int32_t largest_block = 0;
  float longest = 0;  // pixels of the longest text with what is special about a cell; 0: none
};
GridWords words_of(const BlockTableGrid& grid, const Look& look);

// Pixels.
struct CellMetrics {
  float width = 0;
  float height = 0;
  bool readable = true;  // ids are written into the cells
  float names = 0;       // width of the column with names
  float header = 0;      // height of the row with column numbers
};

// The cell's words, or its block alone where these are too long.
std::string text_that_fits(const Look& look, const CellBox& box, const BlockCell& cell);

// cell_size: the chosen size in points. kReadableCells: cells with their numbers; with all their
// words if these fit the room. kAllCells: the same if the whole grid fits the room, else the
// largest cells without numbers with which it does, at least one pixel wide and high.
CellMetrics cell_metrics(const BlockTableGrid& grid, const GridWords& words, std::int32_t cell_size,
                         const Look& look, ImVec2 room);

// The size in points if none is chosen: the largest one at which all grids are seen at once, each
// below a heading of `heading` pixels. From kReadableHeight to kMostFitHeight; 0: not even the
// first fits.
std::int32_t fit_size(std::span<const BlockTableGrid> grids, std::span<const GridWords> words,
                      const Look& look, ImVec2 room, float heading);

// Where fit_size is 0: the pixels of a row with which all grids are seen at once; 0 if that were
// less than kLeastSharedHeight, so that each grid has the room for itself.
inline constexpr float kLeastSharedHeight = 4;  // points
float shared_row_height(std::span<const BlockTableGrid> grids, const Look& look, ImVec2 room,
                        float heading);

CellBox box_of(const CellMetrics& cells, ImVec2 origin, std::size_t row, std::int32_t column);

// Indices [first, last) of the cells in the current window's clip rectangle.
struct Visible {
  std::int32_t first = 0;
  std::int32_t last = 0;
};
Visible visible_columns(const BlockTableGrid& grid, const CellMetrics& cells, ImVec2 origin);
Visible visible_rows(const BlockTableGrid& grid, const CellMetrics& cells, ImVec2 origin);

// The names and column numbers of a block table. They stay at the edges of the window while the
// table scrolls below them.

// The right edge of the names, on the screen.
float names_end(const CellMetrics& cells, ImVec2 origin);
// Call after the cells are drawn. `origin`: of the first cell. As many as fit are written.
void draw_grid_labels(PanelContext& context, const BlockTableGrid& grid, const CellMetrics& cells,
                      ImVec2 origin);

}  // namespace hybridscope
