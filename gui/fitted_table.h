// Tables whose columns are as wide as what they show. Where there is less room, names are cut in
// their middle, then remarks at their end, and the rest stays; where there is less still, the table
// scrolls sideways under the columns that name the row, and ends with a whole column.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gui/model/column_fit.h"
#include "gui/model/column_words.h"
#include "gui/panel.h"

namespace hybridscope {

class FittedTable {
 public:
  struct Shape {
    const char* id = nullptr;
    std::span<const ColumnWords> columns{};
    int hidden = -1;            // a column that is left out
    int num_frozen = 1;         // the first columns, which stay while the table scrolls sideways
    std::size_t rows = 0;       // with `size`: whether a scrollbar takes some of its width
    ImVec2 size{};              // of the table, pixels
    ImFont* headers = nullptr;  // null: the current font
    ImFont* numbers = nullptr;
    int marked = -1;  // the column that the table is sorted by: " +" stands behind its title
  };

  // `cell(row, column)` is the text of a cell; called for all cells whenever the workbench or the
  // font has changed.
  template <class Cell>
  void measure(const PanelContext& context, const Shape& shape, const Cell& cell) {
    if (!starts_over(context)) return;
    for (std::size_t column = 0; column < shape.columns.size(); ++column) {
      add_column(context.look, shape, column);
      for (std::size_t row = 0; row < shape.rows; ++row) add_cell(shape, column, cell(row, column));
    }
  }
  // ImGui::BeginTable with the columns set up; true: a header row, rows and EndTable follow.
  bool begin(const Shape& shape) const;
  // Does it scroll sideways in this width? Its height then has to include a scrollbar.
  bool scrolls_sideways(const Shape& shape) const { return !fit(shape).columns.fits; }

 private:
  struct Fit {
    ColumnFit columns;
    float padding = 0;  // left and right of each cell
    float whole = 0;    // of a table that scrolls sideways: its width, up to a whole column
  };
  bool starts_over(const PanelContext& context);
  void add_column(const Look& look, const Shape& shape, std::size_t column);
  void add_cell(const Shape& shape, std::size_t column, std::string_view text);
  Fit fit(const Shape& shape) const;

  std::vector<ColumnNeed> needs_;  // [columns]
  float least_ = 0;                // pixels, of the column that is measured
  std::uint64_t revision_ = 0;
  float font_size_ = 0;
};

}  // namespace hybridscope
