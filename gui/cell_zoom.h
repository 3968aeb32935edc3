// Ctrl and the mouse wheel over tables of cells: what is under the mouse stays there.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <optional>

#include "gui/panel.h"

namespace hybridscope {

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
