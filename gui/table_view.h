// Draws a table of a picture. Columns are as wide as what they show. Where there is less room,
// wrapped words take more lines and fewer values are shown, names are cut in their middle, then
// remarks at their end, and the rest stays; where there is less still, the table scrolls sideways
// under the columns that name the row, and ends with a whole column.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/word_wrap.h"
#include "gui/panel.h"
#include "gui/widgets.h"

namespace hybridscope {

Rgba colour_of(const Look& look, Tone tone);

struct TablePlace {
  const char* id = nullptr;  // of ImGui: no other table of the window has it
  ImVec2 size{};             // pixels; a height of 0: as high as the rows, without scrolling
  // Draws the sign of a row at the place where its first cell begins (ColumnKind::sign).
  std::function<void(std::size_t row, ImVec2 at)> sign = nullptr;
};

class TableView {
 public:
  // Headings, and of the rows those that are seen. Clicks emit the commands of the table. The row
  // that is wanted is brought into view when another one was before. `table` may be another one
  // whenever the workbench's revision is.
  void draw(PanelContext& context, const Table& table, const TablePlace& place);
  // Does it scroll sideways in this width? Its height then has to include a scrollbar.
  bool scrolls_sideways(PanelContext& context, const Table& table, const TablePlace& place);
  // Pixels that the heading and all rows took in the frame before; 0: none was drawn.
  float drawn_height() const { return drawn_height_; }

 private:
  struct Fit {
    ColumnFit columns;
    float padding = 0;      // left and right of each cell
    float whole = 0;        // of a table that scrolls sideways: its width, up to a whole column
    bool is_short = false;  // spare columns are left out
  };
  void measure(const PanelContext& context, const Table& table);
  ColumnNeed measured_column(const Look& look, const Table& table, std::size_t column) const;
  Fit fit(const Look& look, const Table& table, const TablePlace& place) const;
  bool begin(const Table& table, const TablePlace& place, const Fit& fit) const;
  void draw_rows(PanelContext& context, const Table& table, const TablePlace& place);
  void draw_row(PanelContext& context, const Table& table, const TablePlace& place,
                std::size_t index);
  bool draw_row_item(PanelContext& context, const Table& table, std::size_t index);
  void draw_cell(PanelContext& context, const Table& table, const TableRow& row,
                 std::size_t column) const;

  std::vector<ColumnNeed> needs_;    // [columns]
  std::vector<float> whole_widths_;  // [columns] pixels that CellExtras::whole wants
  std::uint64_t revision_ = 0;
  float font_size_ = 0;
  bool wraps_ = false;        // rows differ in height
  bool has_buttons_ = false;  // in cells, or lists that drop down
  bool is_short_ = false;     // in this frame, as in Fit
  int first_ = 0;             // the first column that is shown
  bool has_headings_ = true;  // they are wanted, and more than one column is shown
  float drawn_height_ = 0;
  Follower<std::string> follower_;
  RowScroll scroll_;
  std::ptrdiff_t follows_ = -1;  // the row that has to be brought into view; -1: none
};

}  // namespace hybridscope
