#include "gui/panels/grid_labels.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Every how many labels are written if one takes `room` pixels.
std::int32_t every(float room, float step) {
  return std::max(1, static_cast<std::int32_t>(std::ceil(room / step)));
}

struct Labels {
  PanelContext& context;
  ImDrawList& list;
  const Look& look;
  const BlockTableGrid& grid;
  const CellMetrics& cells;
  ImVec2 origin;
  ImVec2 corner;  // upper left one of names and numbers, as they are drawn

  void write(ImVec2 at, const std::string& text, Rgba colour) const {
    draw_text(list, look.fonts.small, at, packed(colour), text);
  }

  // Hides the cells that have scrolled below the labels.
  void cover() const {
    const float right = origin.x + cells.width * static_cast<float>(grid.num_columns);
    const float bottom = origin.y + cells.height * static_cast<float>(grid.rows.size());
    const ImU32 panel = packed(look.ui().panel);
    const ImVec2 end(corner.x + cells.names, corner.y + cells.header);
    if (end.x > origin.x) list.AddRectFilled(corner, ImVec2(end.x, bottom), panel);
    if (end.y > origin.y) list.AddRectFilled(corner, ImVec2(right, end.y), panel);
  }

  void write_columns() const {
    const std::int32_t step = every(look.px(26), cells.width);
    const Visible columns = visible_columns(grid, cells, origin);
    for (std::int32_t column = columns.first; column < columns.last; ++column) {
      const float x = origin.x + cells.width * static_cast<float>(column) + 2;
      if (column % step == 0 && x >= corner.x + cells.names)
        write(ImVec2(x, corner.y + look.px(1)), fmt::format("{}", column), look.ui().text_dim);
    }
  }

  void write_names() const {
    const RequestId selected = context.workbench.selection().request;
    const float line = look.fonts.small->FontSize;
    const std::int32_t step = every(line, cells.height);
    const Visible rows = visible_rows(grid, cells, origin);
    for (std::int32_t row = rows.first; row < rows.last; ++row) {
      if (row % step != 0) continue;
      const BlockTableRow& labelled = grid.rows[static_cast<std::size_t>(row)];
      const float y = origin.y + cells.height * static_cast<float>(row) +
                      std::max(0.0F, (cells.height - line) / 2);
      const Rgba colour = labelled.request == selected ? look.ui().accent
                          : labelled.batch_row >= 0    ? look.ui().text
                                                       : look.ui().text_dim;
      if (y < corner.y + cells.header - line / 2) continue;  // below the column numbers
      const ImVec2 at(corner.x + 2, y);
      write(at, fit_middle(look.fonts.small, labelled.name, cells.names - 8), colour);
      context.mark(fmt::format("name {} {}", labelled.name, grid.group),
                   {at, ImVec2(corner.x + cells.names, y + line)});
    }
  }
};

}  // namespace

float names_end(const CellMetrics& cells, ImVec2 origin) {
  return std::max(origin.x, ImGui::GetWindowDrawList()->GetClipRectMin().x + cells.names);
}

void draw_grid_labels(PanelContext& context, const BlockTableGrid& grid, const CellMetrics& cells,
                      ImVec2 origin) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float bottom = origin.y + cells.height * static_cast<float>(grid.rows.size());
  const float top = std::max(origin.y - cells.header, list.GetClipRectMin().y);
  const Labels labels{.context = context,
                      .list = list,
                      .look = context.look,
                      .grid = grid,
                      .cells = cells,
                      .origin = origin,
                      .corner = ImVec2(names_end(cells, origin) - cells.names,
                                       std::min(top, bottom - cells.header))};
  labels.cover();
  labels.write_columns();
  labels.write_names();
}

}  // namespace hybridscope
