// Where a cell's text and its signs go, so that no sign covers the text.
#pragma once

#include <imgui.h>
#include <cstdint>
#include <optional>

#include "gui/model/block_cell.h"
#include "gui/panel.h"

namespace hybridscope {

struct CellBox {
  ImVec2 min;
  ImVec2 max;
};

// All places in pixels of the screen.
struct CellLayout {
  ImVec2 text;        // upper left corner
  float unit = 1;     // pixels of a point of a sign
  float radius = 0;   // of the badge
  ImVec2 badge;       // its centre, at the lower right
  float corner = 0;   // side of the triangle at the upper right
  float edge = 0;     // dark strip along that triangle
  CellBox read;       // of the arrow up
  CellBox written;    // of the arrow down
  ImVec2 checkpoint;  // centre of the diamond
};

// Signs stand left and right of the text where the cell is wide enough. Else the text is at the top
// and the signs, smaller, are in the strip below it; if the cell is too low for that too, they stay
// where they are, and the text has to be drawn over them. `text`: its size in pixels, 0: none;
// `point`: pixels of a point.
CellLayout cell_layout(const CellBox& box, const BlockCell& cell, ImVec2 text, float point);

// Does the cell have arrows or a diamond at its left?
bool has_left_signs(const BlockCell& cell);

// Ctrl and the mouse wheel over tables of cells: what is under the mouse stays there.

// A table as it is drawn in this frame.
struct ZoomedGrid {
  std::int32_t number = 0;  // among the panel's tables
  ImVec2 origin;            // of its first cell, on the screen
  ImVec2 cell;              // pixels
};

class CellZoom {
 public:
  // Call when the table is the last item drawn.
  void over(PanelContext& context, const ZoomedGrid& grid);
  // Call beside the tables, in the window that scrolls them; `points`: the size of a cell.
  void beside(PanelContext& context, std::int32_t points);

 private:
  struct Point {
    std::int32_t number = 0;
    float height = 0;  // of the cells before
    ImVec2 cell;       // column and row, with fractions
    ImVec2 mouse;
  };
  void keep_in_place(const ZoomedGrid& grid);

  std::optional<Point> point_;  // of the frame before
};

}  // namespace hybridscope
