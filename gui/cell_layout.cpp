#include "gui/cell_layout.h"

#include <fmt/core.h>
#include <algorithm>
#include <cmath>
#include <utility>

namespace hybridscope {
namespace {

// Units: the points of a sign in a cell that is 21 points high.
constexpr float kUsualHeight = 21;
constexpr float kLeastUnit = 0.8F;
constexpr float kMostUnit = 2.6F;
constexpr float kRadius = 3.5F;
constexpr float kSmallRadius = 3;
constexpr float kCorner = 7;
constexpr float kCornerEdge = 2.5F;
constexpr float kArrowWidth = 6;
constexpr float kArrowHeight = 5;
constexpr float kSmallArrow = 4;  // width and height
constexpr float kEdge = 2;
// Beside the text, with a gap.
constexpr float kLeftRoom = 9;
constexpr float kRightRoom = 11;
constexpr float kStrip = 8;  // below the text
// Digits end this share of the line's height above its lower edge, and begin as much below the
// upper one.
constexpr float kDigitMargin = 0.17F;

bool has_right_signs(const BlockCell& cell) {
  return cell.changed || (cell.state != CellState::written && cell.role != CellRole::null_block);
}

class SignPlaces {
 public:
  SignPlaces(const CellBox& box, ImVec2 text, float point) : box_(box), text_(text) {
    layout_.unit = std::clamp(height() / kUsualHeight, kLeastUnit * point, kMostUnit * point);
  }

  // Signs at both sides of the text take `left` and `right` units.
  bool is_wide_enough(float left, float right) const {
    return text_.x + (left + right) * layout_.unit <= box_.max.x - box_.min.x;
  }
  bool has_strip() const { return height() >= digits_end() + kStrip * layout_.unit; }

  CellLayout beside(float left, float right) {
    const float u = layout_.unit;
    const float centred = (box_.min.x + box_.max.x - text_.x) / 2;
    const float x =
        std::max(std::min(centred, box_.max.x - right * u - text_.x), box_.min.x + left * u);
    layout_.text = ImVec2(std::floor(x), std::floor(middle() - text_.y / 2));
    layout_.corner = kCorner * u;
    layout_.edge = kCornerEdge * u;
    const float edge = box_.min.x + kEdge * u;
    const ImVec2 arrow(kArrowWidth * u, kArrowHeight * u);
    layout_.read = at(ImVec2(edge, box_.min.y + kEdge * u), arrow);
    layout_.written = at(ImVec2(edge, box_.max.y - kEdge * u - arrow.y), arrow);
    layout_.checkpoint = ImVec2(edge + kRadius * u, middle());
    return with_badge(kRadius * u, 2);
  }

  CellLayout stacked() {
    const float u = layout_.unit;
    const float side = (box_.max.x - box_.min.x - text_.x) / 2;
    layout_.text = ImVec2(
        std::floor(box_.min.x + side),
        std::floor(std::min(middle() - text_.y / 2, box_.max.y - kStrip * u - digits_end())));
    const float above = layout_.text.y + text_.y * kDigitMargin - box_.min.y;
    layout_.edge = 1;
    layout_.corner = std::clamp(side + above - layout_.edge, 0.0F, kCorner * u);
    const ImVec2 arrow(kSmallArrow * u, kSmallArrow * u);
    const float top = box_.max.y - (kSmallArrow + 1) * u;
    const float edge = box_.min.x + kEdge * u;
    const float next = (kSmallArrow + 1) * u;
    layout_.read = at(ImVec2(edge, top), arrow);
    layout_.written = at(ImVec2(edge + next, top), arrow);
    layout_.checkpoint = ImVec2(edge + 2 * next + kSmallRadius * u, top + arrow.y / 2);
    return with_badge(kSmallRadius * u, 1);
  }

 private:
  float height() const { return box_.max.y - box_.min.y; }
  float middle() const { return (box_.min.y + box_.max.y) / 2; }
  float digits_end() const { return text_.y * (1 - kDigitMargin); }
  static CellBox at(ImVec2 corner, ImVec2 size) {
    return {corner, ImVec2(corner.x + size.x, corner.y + size.y)};
  }
  CellLayout with_badge(float radius, float edge) {
    layout_.radius = radius;
    layout_.badge = ImVec2(box_.max.x - radius - edge, box_.max.y - radius - edge);
    return layout_;
  }

  CellBox box_;
  ImVec2 text_;
  CellLayout layout_;
};

}  // namespace

bool has_left_signs(const BlockCell& cell) {
  const bool is_used = cell.use.read || cell.use.written;
  return cell.checkpoint > 0 || (is_used && cell.use.what != ForwardUse::draft);
}

CellLayout cell_layout(const CellBox& box, const BlockCell& cell, ImVec2 text, float point) {
  SignPlaces layout(box, text, point);
  const float left = has_left_signs(cell) ? kLeftRoom : 0;
  const float right = has_right_signs(cell) ? kRightRoom : 0;
  if (layout.is_wide_enough(left, right)) return layout.beside(left, right);
  return layout.has_strip() ? layout.stacked() : layout.beside(0, 0);
}

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
