#include "gui/cell_zoom.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace hybridscope {
namespace {

// Emits a command if Ctrl and the mouse wheel ask for another size than `points`.
bool zoom(PanelContext& context, std::int32_t points) {
  const ImGuiIO& io = ImGui::GetIO();
  if (!io.KeyCtrl || io.MouseWheel == 0) return false;
  const std::int32_t wanted = io.MouseWheel > 0 ? larger_cell(points) : smaller_cell(points);
  context.emit("block_tables.cell_size", fmt::format("{}", wanted));
  return true;
}

}  // namespace

void CellZoom::over(PanelContext& context, const ZoomedGrid& grid) {
  keep_in_place(grid);
  if (!ImGui::IsItemHovered()) return;
  if (!zoom(context, static_cast<std::int32_t>(std::lround(grid.cell.y / context.look.scale))))
    return;
  const ImVec2 mouse = ImGui::GetMousePos();
  point_ = Point{.number = grid.number,
                 .height = grid.cell.y,
                 .cell = ImVec2((mouse.x - grid.origin.x) / grid.cell.x,
                                (mouse.y - grid.origin.y) / grid.cell.y),
                 .mouse = mouse};
}

void CellZoom::beside(PanelContext& context, std::int32_t points) {
  if (ImGui::IsWindowHovered() && !ImGui::IsAnyItemHovered()) (void)zoom(context, points);
}

// Limited by how far the window can scroll.
void CellZoom::keep_in_place(const ZoomedGrid& grid) {
  if (!point_ || point_->number != grid.number) return;
  const Point point = *std::exchange(point_, std::nullopt);
  if (point.height == grid.cell.y) return;
  const ImVec2 now(grid.origin.x + point.cell.x * grid.cell.x,
                   grid.origin.y + point.cell.y * grid.cell.y);
  ImGui::SetScrollX(std::max(ImGui::GetScrollX() + now.x - point.mouse.x, 0.0F));
  ImGui::SetScrollY(std::max(ImGui::GetScrollY() + now.y - point.mouse.y, 0.0F));
}

}  // namespace hybridscope
