#include "gui/model/tab_drop.h"

#include <fmt/core.h>

#include <algorithm>

namespace hybridscope {
namespace {

constexpr std::int32_t kGapWidth = 4;

bool contains(const LayoutRect& area, std::int32_t x, std::int32_t y) {
  return x >= area.x && x < area.x + area.width && y >= area.y && y < area.y + area.height;
}

std::string move(const DraggedTab& dragged, std::string_view to_panel, std::string_view place) {
  return fmt::format("{} {} {}", dragged.panel, to_panel, place);
}

// The tab goes before the first tab whose middle is right of the mouse.
TabDrop drop_on_bar(const LayoutLeaf& leaf, const LayoutRect& bar, const DraggedTab& dragged,
                    std::span<const TabBox> tabs) {
  std::int32_t end = bar.x;
  std::string_view last;
  for (const TabBox& tab : tabs) {
    if (std::ranges::find(leaf.panels, tab.panel) == leaf.panels.end()) continue;
    const bool is_dragged = tab.panel == dragged.panel;
    if (!is_dragged && dragged.x < tab.area.x + tab.area.width / 2)
      return {.argument = move(dragged, tab.panel, "before"),
              .preview = bar,
              .gap = LayoutRect{tab.area.x - kGapWidth, tab.area.y, kGapWidth, tab.area.height}};
    end = std::max(end, tab.area.x + tab.area.width);
    if (!is_dragged) last = tab.panel;
  }
  if (last.empty()) last = leaf.panels.front();
  return {.argument = move(dragged, last, "tab"),
          .preview = bar,
          .gap = LayoutRect{std::min(end, bar.x + bar.width - kGapWidth), bar.y, kGapWidth,
                            bar.height}};
}

std::optional<TabDrop> drop_on_body(const LayoutLeaf& leaf, const LayoutRect& area,
                                    const DraggedTab& dragged) {
  const double x = static_cast<double>(dragged.x - area.x) / area.width;
  const double y = static_cast<double>(dragged.y - area.y) / area.height;
  const std::int32_t half_width = area.width / 2;
  const std::int32_t half_height = area.height / 2;
  struct Edge {
    double distance;
    std::string_view place;
    LayoutRect half;
  };
  const Edge edges[] = {
      {x, "left", {area.x, area.y, half_width, area.height}},
      {1 - x, "right", {area.x + area.width - half_width, area.y, half_width, area.height}},
      {y, "top", {area.x, area.y, area.width, half_height}},
      {1 - y, "bottom", {area.x, area.y + area.height - half_height, area.width, half_height}}};
  const Edge& nearest = *std::ranges::min_element(edges, {}, &Edge::distance);
  if (nearest.distance < kEdgeShare)
    return TabDrop{.argument = move(dragged, leaf.panels.front(), nearest.place),
                   .preview = nearest.half};
  if (std::ranges::find(leaf.panels, dragged.panel) != leaf.panels.end()) return std::nullopt;
  return TabDrop{.argument = move(dragged, leaf.panels.front(), "tab"), .preview = area};
}

}  // namespace

std::optional<TabDrop> tab_drop(const LayoutTree& tree, const LayoutAreas& areas,
                                const DraggedTab& dragged, std::span<const TabBox> tabs) {
  for (const LeafArea& at : areas.leaves) {
    if (!contains(at.area, dragged.x, dragged.y)) continue;
    const auto& leaf = std::get<LayoutLeaf>(tree.nodes()[static_cast<std::size_t>(at.leaf)]);
    if (leaf.panels.size() == 1 && leaf.panels.front() == dragged.panel) return std::nullopt;
    const LayoutRect bar{at.area.x, at.area.y, at.area.width,
                         std::min(dragged.bar_height, at.area.height)};
    if (contains(bar, dragged.x, dragged.y)) return drop_on_bar(leaf, bar, dragged, tabs);
    return drop_on_body(leaf, at.area, dragged);
  }
  return std::nullopt;
}

}  // namespace hybridscope
