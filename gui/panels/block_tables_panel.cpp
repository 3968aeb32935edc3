#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "gui/cell_layout.h"
#include "gui/grid_texture.h"
#include "gui/model/command_table.h"
#include "gui/model/shown_run.h"
#include "gui/panels/cell_metrics.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

constexpr float kLeastWithLegend = 200;  // points; a lower panel has no legend
constexpr float kLeastMarkPixels = 5;    // smaller cells have no room for marks

class BlockTablesPanel final : public Panel {
 public:
  void draw(PanelContext& context) override;

 private:
  void draw_tools(PanelContext& context, bool has_legend);
  // Points: the chosen size, or what fits; else what was chosen in place of one.
  std::int32_t cell_size(const PanelContext& context) const;
  // The size that zooming starts from if no cell is under the mouse.
  std::int32_t points_of_cell(const PanelContext& context) const {
    const std::int32_t size = cell_size(context);
    return size <= 0 ? static_cast<std::int32_t>(kReadableHeight) : size;
  }
  void fit(const PanelContext& context, const BlockTableModel& model);
  // What a grid needs for drawing, made once per step.
  struct Prepared {
    GridTexture texture;
    GridWords words;
  };
  void prepare(const PanelContext& context);
  void draw_grid(PanelContext& context, const BlockTableGrid& grid, const Prepared& prepared);
  ImVec2 room_of(const BlockTableGrid& grid, const Look& look) const;
  void follow_selection(const Selection& selection, const BlockTableGrid& grid,
                        const CellMetrics& cells);
  void draw_cells(PanelContext& context, const BlockTableGrid& grid, const CellMetrics& cells,
                  ImVec2 origin);
  static void draw_marks(const BlockTableGrid& grid, const CellMetrics& cells, ImVec2 origin);
  void draw_frames(PanelContext& context, const BlockTableGrid& grid, const CellMetrics& cells,
                   ImVec2 origin) const;
  static void draw_differences(PanelContext& context, const BlockTableGrid& grid,
                               const CellMetrics& cells, ImVec2 origin);
  void handle_mouse(PanelContext& context, const BlockTableGrid& grid, const CellMetrics& cells,
                    ImVec2 origin);

  Cached<BlockTableModel> model_;
  Follower<Selection> follower_;
  bool follows_ = false;      // the selected cell must be scrolled into view
  float legend_height_ = 60;  // pixels, of the frame before
  CellZoom zoom_;
  std::int32_t fit_ = 0;      // points; 0: not all grids fit
  float shared_ = 0;          // pixels of a row where small cells make all grids fit; 0: nowhere
  float heading_height_ = 0;  // pixels, of a grid's heading in the frame before
  struct PreparedFor {
    std::uint64_t revision = 0;
    ThemeKind theme = ThemeKind::dark;
    float scale = 0;
    friend bool operator==(const PreparedFor&, const PreparedFor&) = default;
  };
  PreparedFor prepared_for_;
  std::vector<std::unique_ptr<Prepared>> prepared_;  // [grids]
};

void BlockTablesPanel::draw(PanelContext& context) {
  const BlockTableModel& model = model_.get(context.workbench, [&] {
    return make_block_table_model(*context.workbench.run(),
                                  context.workbench.options().block_tables);
  });
  const ShownRun& run = *context.workbench.run();
  if (const std::string lacks = not_kept(run, "block tables"); !lacks.empty()) {
    wrapped_dim_text(context.look, lacks);
    return;
  }
  prepare(context);
  const bool has_legend = ImGui::GetContentRegionAvail().y > context.look.px(kLeastWithLegend);
  draw_tools(context, has_legend);
  if (const std::string lacks = contents_not_kept(run); !lacks.empty())
    wrapped_dim_text(context.look, lacks);
  ImGui::BeginChild("grids", ImVec2(0, has_legend ? -legend_height_ : 0), false,
                    ImGuiWindowFlags_HorizontalScrollbar);
  follows_ = follower_.moves_to(context.workbench.selection());
  fit(context, model);
  for (std::size_t i = 0; i < model.grids.size(); ++i)
    draw_grid(context, model.grids[i], *prepared_[i]);
  zoom_.beside(context, points_of_cell(context));
  ImGui::EndChild();
  if (!has_legend) return;
  const float top = ImGui::GetCursorPosY();
  draw_cell_legend(context.look, LegendShape::lines);
  legend_height_ = std::max(ImGui::GetCursorPosY() - top, 1.0F);
}

void BlockTablesPanel::prepare(const PanelContext& context) {
  const PreparedFor now{context.workbench.revision(), context.look.theme.kind, context.look.scale};
  if (now == prepared_for_) return;
  prepared_for_ = now;
  const BlockTableModel& model = model_.get(context.workbench, [] { return BlockTableModel{}; });
  while (prepared_.size() < model.grids.size()) prepared_.push_back(std::make_unique<Prepared>());
  std::vector<std::uint32_t> pixels;
  for (std::size_t i = 0; i < model.grids.size(); ++i) {
    const BlockTableGrid& grid = model.grids[i];
    pixels.clear();
    for (const BlockCell& cell : grid.cells) pixels.push_back(cell_pixel(context.look, cell));
    prepared_[i]->texture.set(pixels, grid.num_columns,
                              static_cast<std::int32_t>(grid.rows.size()));
    prepared_[i]->words = words_of(grid, context.look);
  }
}

std::int32_t BlockTablesPanel::cell_size(const PanelContext& context) const {
  const std::int32_t chosen = context.workbench.options().block_tables.cell_size;
  return chosen <= 0 && fit_ > 0 ? fit_ : chosen;
}

// Call in the window that scrolls the grids, before the first one.
void BlockTablesPanel::fit(const PanelContext& context, const BlockTableModel& model) {
  std::vector<GridWords> words;
  for (std::size_t i = 0; i < model.grids.size(); ++i) words.push_back(prepared_[i]->words);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float heading = std::max(heading_height_, ImGui::GetTextLineHeightWithSpacing()) +
                        2 * ImGui::GetStyle().ItemSpacing.y + context.look.px(6);
  fit_ = fit_size(model.grids, words, context.look, room, heading);
  shared_ = shared_row_height(model.grids, context.look, room, heading);
}

void BlockTablesPanel::draw_tools(PanelContext& context, bool has_legend) {
  const BlockTablesOptions& options = context.workbench.options().block_tables;
  if (toggle(context.look, "Scheduler", options.side == TableSide::scheduler))
    context.emit("block_tables.side", "scheduler");
  tooltip(side_words(TableSide::scheduler));
  ImGui::SameLine();
  if (toggle(context.look, "Worker", options.side == TableSide::worker))
    context.emit("block_tables.side", "worker");
  tooltip(side_words(TableSide::worker));
  const float three = button_width("Fit") + button_width("-") + button_width("+") +
                      2 * ImGui::GetStyle().ItemSpacing.x;
  flow(three, context.look.px(18));
  const bool all = options.cell_size == kAllCells;
  if (toggle(context.look, "Fit", all))
    context.emit("block_tables.cell_size", all ? "readable" : "fit");
  context.mark("fit");
  tooltip(
      "All tables at once, in cells without numbers if need be. Where rows would then have less "
      "than 4 pixels, each table fits the panel by itself; only one with more rows or columns "
      "than the panel has pixels scrolls. Otherwise cells keep their numbers, and the panel "
      "scrolls.");
  ImGui::SameLine();
  const std::int32_t size = points_of_cell(context);
  if (ImGui::Button("-"))
    context.emit("block_tables.cell_size", fmt::format("{}", smaller_cell(size)));
  tooltip("Smaller cells (Ctrl and the mouse wheel)");
  ImGui::SameLine();
  if (ImGui::Button("+"))
    context.emit("block_tables.cell_size", fmt::format("{}", larger_cell(size)));
  tooltip("Larger cells (Ctrl and the mouse wheel)");
  if (has_legend) return;
  flow(ImGui::CalcTextSize("Legend").x, context.look.px(18));
  dim_text(context.look, "Legend");
  if (!ImGui::IsItemHovered()) return;
  ImGui::BeginTooltip();
  draw_cell_legend(context.look, LegendShape::column);
  ImGui::EndTooltip();
}

// Where the selection is in a grid: the cell, the row of the request (column -1), or the first cell
// of a block that was selected without a request.
struct GridPlace {
  std::size_t row = 0;
  std::int32_t column = -1;
};
std::optional<GridPlace> place_of(const Selection& selection, const BlockTableGrid& grid) {
  if (selection.group >= 0 && selection.group != grid.group) return std::nullopt;
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    if (selection.request.value >= 0) {
      if (grid.rows[row].request == selection.request)
        return GridPlace{row, selection.group < 0 ? -1 : selection.column};
      continue;
    }
    for (std::int32_t column = 0; column < grid.rows[row].num_columns; ++column)
      if (selection.block > kNullBlock && grid.at(row, column).block == selection.block)
        return GridPlace{row, column};
  }
  return std::nullopt;
}

// Call where the grid begins.
void BlockTablesPanel::follow_selection(const Selection& selection, const BlockTableGrid& grid,
                                        const CellMetrics& cells) {
  const auto place = follows_ ? place_of(selection, grid) : std::nullopt;
  if (!place) return;
  follows_ = false;
  // The column numbers stay above the row.
  scroll_into_view(ImGui::GetCursorPosY() + cells.height * static_cast<float>(place->row),
                   cells.header + cells.height);
  if (place->column < 0) return;
  const float left = cells.names + cells.width * static_cast<float>(place->column);
  const float room = ImGui::GetWindowWidth() - ImGui::GetStyle().ScrollbarSize;
  if (left < ImGui::GetScrollX() + cells.names)
    ImGui::SetScrollX(std::max(left - cells.names, 0.0F));
  else if (left + cells.width > ImGui::GetScrollX() + room)
    ImGui::SetScrollX(left + cells.width - room);
}

void BlockTablesPanel::draw_grid(PanelContext& context, const BlockTableGrid& grid,
                                 const Prepared& prepared) {
  const Look& look = context.look;
  ImGui::PushID(grid.group);
  const float top = ImGui::GetCursorPosY();
  heading(look, grid.name, grid_words(grid));
  heading_height_ = ImGui::GetCursorPosY() - top;
  if (grid.rows.empty() || grid.num_columns == 0) {
    dim_text(look, kEmptyGrid);
    ImGui::PopID();
    return;
  }
  const CellMetrics cells =
      cell_metrics(grid, prepared.words, cell_size(context), look, room_of(grid, look));
  follow_selection(context.workbench.selection(), grid, cells);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 size(cells.names + cells.width * static_cast<float>(grid.num_columns),
                    cells.header + cells.height * static_cast<float>(grid.rows.size()));
  ImGui::InvisibleButton("grid", size);
  const ImVec2 origin(at.x + cells.names, at.y + cells.header);
  if (cells.readable) {
    draw_cells(context, grid, cells, origin);
  } else {
    prepared.texture.draw(*ImGui::GetWindowDrawList(), origin, ImVec2(cells.width, cells.height));
    draw_marks(grid, cells, origin);
  }
  draw_frames(context, grid, cells, origin);
  draw_grid_labels(context, grid, cells, origin);
  handle_mouse(context, grid, cells, origin);
  zoom_.over(context,
             {.number = grid.group, .origin = origin, .cell = ImVec2(cells.width, cells.height)});
  ImGui::Dummy(ImVec2(0, look.px(6)));
  ImGui::PopID();
}

// Its share of the panel, or, as grids scroll, the height of the panel.
ImVec2 BlockTablesPanel::room_of(const BlockTableGrid& grid, const Look& look) const {
  const float height =
      shared_ > 0 ? shared_ * static_cast<float>(grid.rows.size()) + look.px(kNumbersHeight)
                  : ImGui::GetWindowHeight() - 2 * ImGui::GetTextLineHeightWithSpacing();
  return {ImGui::GetContentRegionAvail().x, height};
}

void BlockTablesPanel::draw_cells(PanelContext& context, const BlockTableGrid& grid,
                                  const CellMetrics& cells, ImVec2 origin) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const Visible columns = visible_columns(grid, cells, origin);
  const Visible rows = visible_rows(grid, cells, origin);
  for (std::int32_t row = rows.first; row < rows.last; ++row)
    for (std::int32_t column = columns.first; column < columns.last; ++column) {
      const auto r = static_cast<std::size_t>(row);
      const BlockCell& cell = grid.at(r, column);
      if (cell.block < 0) continue;
      const CellBox box = box_of(cells, origin, r, column);
      draw_cell(list, context.look, box, cell, text_that_fits(context.look, box, cell));
      context.mark(fmt::format("cell {} {} {}", grid.rows[r].name, grid.group, column),
                   {box.min, box.max});
    }
}

// Marks of visible cells that a pixel cannot show.
void BlockTablesPanel::draw_marks(const BlockTableGrid& grid, const CellMetrics& cells,
                                  ImVec2 origin) {
  if (std::min(cells.width, cells.height) < kLeastMarkPixels) return;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const Visible columns = visible_columns(grid, cells, origin);
  const Visible rows = visible_rows(grid, cells, origin);
  for (std::int32_t row = rows.first; row < rows.last; ++row)
    for (std::int32_t column = columns.first; column < columns.last; ++column) {
      const auto r = static_cast<std::size_t>(row);
      draw_small_marks(list, box_of(cells, origin, r, column), grid.at(r, column));
    }
}

void BlockTablesPanel::draw_frames(PanelContext& context, const BlockTableGrid& grid,
                                   const CellMetrics& cells, ImVec2 origin) const {
  const Selection& selection = context.workbench.selection();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const Visible columns = visible_columns(grid, cells, origin);
  const Visible rows = visible_rows(grid, cells, origin);
  for (std::int32_t row = rows.first; row < rows.last; ++row) {
    const auto r = static_cast<std::size_t>(row);
    const bool in_row = grid.rows[r].request == selection.request;
    if (selection.block <= kNullBlock && !in_row) continue;
    for (std::int32_t column = columns.first; column < columns.last; ++column) {
      const bool is_cell = in_row && grid.group == selection.group && column == selection.column;
      const bool same_block =
          selection.block > kNullBlock && grid.at(r, column).block == selection.block;
      if (is_cell || same_block)
        draw_frame(list, context.look, box_of(cells, origin, r, column),
                   is_cell ? FrameKind::selected : FrameKind::same_block);
    }
  }
  draw_differences(context, grid, cells, origin);
}

void BlockTablesPanel::draw_differences(PanelContext& context, const BlockTableGrid& grid,
                                        const CellMetrics& cells, ImVec2 origin) {
  const DifferenceMarks* marks = context.workbench.differences();
  if (marks == nullptr) return;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const Visible rows = visible_rows(grid, cells, origin);
  for (std::int32_t row = rows.first; row < rows.last; ++row) {
    const BlockTableRow& of_row = grid.rows[static_cast<std::size_t>(row)];
    const RequestDifferences* of = marks->of(of_row.name);
    if (of == nullptr) continue;
    for (const auto& [group, column] : of->cells) {
      if (group != grid.group || column >= grid.num_columns) continue;
      CellBox box = box_of(cells, origin, static_cast<std::size_t>(row), column);
      const Selection& selection = context.workbench.selection();
      const std::int32_t block = grid.at(static_cast<std::size_t>(row), column).block;
      // Inside the frame of the selection.
      const float inset = block == selection.block && block > kNullBlock ? context.look.px(2) : 0;
      box = {ImVec2(box.min.x + inset, box.min.y + inset),
             ImVec2(box.max.x - inset, box.max.y - inset)};
      draw_frame(list, context.look, box, FrameKind::differs);
      context.mark(fmt::format("differs {} {} {}", of_row.name, group, column), {box.min, box.max});
    }
  }
}

void BlockTablesPanel::handle_mouse(PanelContext& context, const BlockTableGrid& grid,
                                    const CellMetrics& cells, ImVec2 origin) {
  if (!ImGui::IsItemHovered()) return;
  const ImVec2 mouse = ImGui::GetMousePos();
  const auto row = static_cast<std::int32_t>(std::floor((mouse.y - origin.y) / cells.height));
  const auto column = mouse.x < names_end(cells, origin)
                          ? -1
                          : static_cast<std::int32_t>((mouse.x - origin.x) / cells.width);
  if (row < 0 || row >= static_cast<std::int32_t>(grid.rows.size())) return;
  const BlockTableRow& of_row = grid.rows[static_cast<std::size_t>(row)];
  if (column < 0) {
    if (ImGui::IsItemClicked()) context.emit("select.request", quoted_word(of_row.name));
    return;
  }
  if (column >= of_row.num_columns) return;
  const BlockCell& cell = grid.at(static_cast<std::size_t>(row), column);
  const TableSide side = context.workbench.options().block_tables.side;
  std::vector<Fact> facts = describe_cell(
      *context.workbench.run(),
      {.request = of_row.request, .group = grid.group, .column = column, .side = side}, cell);
  const DifferenceMarks* marks = context.workbench.differences();
  const RequestDifferences* differs = marks != nullptr ? marks->of(of_row.name) : nullptr;
  if (differs != nullptr && differs->has_cell(grid.group, column))
    facts.push_back({"compared", std::string(kDiffers)});
  facts_tooltip(context.look, facts);
  if (!ImGui::IsItemClicked()) return;
  context.emit("select.cell",
               fmt::format("{} {} {}", quoted_word(of_row.name), grid.group, column));
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left))
    context.emit("panel.show", "state_inspector");
}

}  // namespace

std::unique_ptr<Panel> make_block_tables_panel() { return std::make_unique<BlockTablesPanel>(); }

}  // namespace hybridscope
