#include "gui/panels/cell_metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points.
constexpr float kReadableWidth = 34;  // of a block id of three digits
constexpr float kDigitWidth = 7.5F;
constexpr float kSignsWidth = 26;  // of the signs left and right of a cell's text
constexpr float kLeastNames = 40;
constexpr float kMostNames = 160;
constexpr float kNamesOfSmallCells = 60;
constexpr float kMostSmallHeight = 14;  // of cells without numbers

float width_of(const ImFont& font, const std::string& text) {
  return font.CalcTextSizeA(font.FontSize, FLT_MAX, 0, text.c_str()).x;
}

int digits_of(std::int32_t number) { return number < 10 ? 1 : 1 + digits_of(number / 10); }

// Whole pixels of one cell when `count` cells share the room.
float share_of(float room, float count, float most) {
  return std::max(std::floor(std::min(room / count, most)), 1.0F);
}

Visible visible(float from, float to, float origin, float step, std::int32_t count) {
  const auto first = static_cast<std::int32_t>(std::floor((from - origin) / step));
  const auto last = static_cast<std::int32_t>(std::ceil((to - origin) / step));
  return {std::clamp(first, 0, count), std::clamp(last, 0, count)};
}

}  // namespace

GridWords words_of(const BlockTableGrid& grid, const Look& look) {
  GridWords words{.names = look.px(kLeastNames)};
  const float most = look.px(kMostNames);
  for (const BlockTableRow& row : grid.rows) {
    if (words.names >= most) break;
    words.names = std::max(words.names, std::ceil(text_width(ImGui::GetFont(), row.name)));
  }
  const ImFont& font = *look.fonts.small;
  for (const BlockCell& cell : grid.cells) {
    words.largest_block = std::max(words.largest_block, cell.block);
    if (cell.partial_tokens > 0 || cell.checkpoint > 0)
      words.longest = std::max(words.longest, width_of(font, cell_words(cell)));
  }
  return words;
}

CellMetrics cell_metrics(const BlockTableGrid& grid, const GridWords& words, std::int32_t cell_size,
                         const Look& look, ImVec2 room) {
  CellMetrics cells;
  cells.header = look.px(kNumbersHeight);
  cells.names = std::min(words.names + look.px(10), look.px(kMostNames));
  cells.height = look.px(cell_size > 0 ? static_cast<float>(cell_size) : kReadableHeight);
  const float wanted = std::max(
      kReadableWidth, static_cast<float>(digits_of(words.largest_block)) * kDigitWidth + 9);
  cells.width = cells.height * wanted / kReadableHeight;
  const float with_words =
      words.longest > 0 ? std::max(cells.width, words.longest + look.px(kSignsWidth)) : 0;
  const auto columns = static_cast<float>(std::max(grid.num_columns, 1));
  const auto rows = static_cast<float>(std::max<std::size_t>(grid.rows.size(), 1));
  if (with_words * columns <= room.x - cells.names) cells.width = std::max(cells.width, with_words);
  const bool fits =
      cells.width * columns <= room.x - cells.names && cells.height * rows <= room.y - cells.header;
  if (cell_size == kAllCells && !fits) {
    cells.width = share_of(room.x - look.px(kNamesOfSmallCells), columns, look.px(kReadableWidth));
    cells.height = share_of(room.y - cells.header, rows, look.px(kMostSmallHeight));
  }
  cells.readable = cells.height >= look.px(15) && cells.width >= look.px(20);
  if (!cells.readable) cells.names = look.px(kNamesOfSmallCells);
  return cells;
}

std::int32_t fit_size(std::span<const BlockTableGrid> grids, std::span<const GridWords> words,
                      const Look& look, ImVec2 room, float heading) {
  const auto fits = [&](std::int32_t size) {
    float height = 0;
    for (std::size_t i = 0; i < grids.size(); ++i) {
      const CellMetrics cells = cell_metrics(grids[i], words[i], size, look, room);
      const float width = cells.names + cells.width * static_cast<float>(grids[i].num_columns);
      if (width > room.x) return false;
      height += heading + cells.header + cells.height * static_cast<float>(grids[i].rows.size());
    }
    return height <= room.y;
  };
  for (std::int32_t size = kMostFitHeight; size >= static_cast<std::int32_t>(kReadableHeight);
       --size)
    if (fits(size)) return size;
  return 0;
}

float shared_row_height(std::span<const BlockTableGrid> grids, const Look& look, ImVec2 room,
                        float heading) {
  float left = room.y;
  float rows = 0;
  for (const BlockTableGrid& grid : grids) {
    left -= heading + look.px(kNumbersHeight);
    rows += static_cast<float>(grid.rows.size());
  }
  const float height = std::floor(left / std::max(rows, 1.0F));
  return height >= look.px(kLeastSharedHeight) ? height : 0;
}

std::string text_that_fits(const Look& look, const CellBox& box, const BlockCell& cell) {
  std::string words = cell_words(cell);
  if (width_of(*look.fonts.small, words) + look.px(kSignsWidth) / 2 <= box.max.x - box.min.x)
    return words;
  return fmt::format("{}", cell.block);
}

CellBox box_of(const CellMetrics& cells, ImVec2 origin, std::size_t row, std::int32_t column) {
  const ImVec2 min(origin.x + cells.width * static_cast<float>(column),
                   origin.y + cells.height * static_cast<float>(row));
  const float gap = cells.readable ? 1.0F : 0.0F;
  return {min, ImVec2(min.x + cells.width - gap, min.y + cells.height - gap)};
}

Visible visible_columns(const BlockTableGrid& grid, const CellMetrics& cells, ImVec2 origin) {
  const ImDrawList& list = *ImGui::GetWindowDrawList();
  return visible(list.GetClipRectMin().x, list.GetClipRectMax().x, origin.x, cells.width,
                 grid.num_columns);
}

Visible visible_rows(const BlockTableGrid& grid, const CellMetrics& cells, ImVec2 origin) {
  const ImDrawList& list = *ImGui::GetWindowDrawList();
  return visible(list.GetClipRectMin().y, list.GetClipRectMax().y, origin.y, cells.height,
                 static_cast<std::int32_t>(grid.rows.size()));
}

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
