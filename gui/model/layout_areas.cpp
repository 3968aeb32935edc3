#include "gui/model/layout_tree.h"

#include <fmt/core.h>
#include <algorithm>
#include <cmath>

#include "core/base/result.h"

namespace hybridscope {
namespace {

// One direction of an area: along x for a horizontal split, along y for a vertical one.
struct Extent {
  std::int32_t begin = 0;
  std::int32_t size = 0;
};

Extent extent_along(SplitAxis axis, const LayoutRect& area) {
  return axis == SplitAxis::horizontal ? Extent{area.x, area.width} : Extent{area.y, area.height};
}

LayoutRect with_extent(SplitAxis axis, LayoutRect area, const Extent& extent) {
  (axis == SplitAxis::horizontal ? area.x : area.y) = extent.begin;
  (axis == SplitAxis::horizontal ? area.width : area.height) = extent.size;
  return area;
}

std::int32_t along(SplitAxis axis, const LayoutSize& size) {
  return axis == SplitAxis::horizontal ? size.width : size.height;
}

// What a split divides: the pixels of both children together, and the minimum of each.
struct Division {
  std::int32_t pixels = 0;
  std::int32_t min_first = 0;
  std::int32_t min_second = 0;
};

// The first child's pixels: at least its minimum, at most what the other's minimum leaves.
std::int32_t clamp_first(const Division& division, double wanted) {
  const std::int64_t needed = std::int64_t{division.min_first} + division.min_second;
  if (division.pixels < needed)
    return static_cast<std::int32_t>(std::int64_t{division.pixels} * division.min_first / needed);
  const auto rounded = static_cast<std::int32_t>(
      std::lround(std::clamp(wanted, 0.0, static_cast<double>(division.pixels))));
  return std::clamp(rounded, division.min_first, division.pixels - division.min_second);
}

LayoutSize minimum_of_split(SplitAxis axis, const LayoutSize& first, const LayoutSize& second,
                            std::int32_t splitter) {
  if (axis == SplitAxis::horizontal)
    return {.width = first.width + splitter + second.width,
            .height = std::max(first.height, second.height)};
  return {.width = std::max(first.width, second.width),
          .height = first.height + splitter + second.height};
}

// Children come after their parent, so backwards iteration handles them first.
std::vector<LayoutSize> minima_of(const LayoutTree& tree, const LayoutMetrics& metrics) {
  std::vector<LayoutSize> minima(tree.nodes().size(), metrics.min_leaf);
  for (std::size_t node = minima.size(); node-- > 0;) {
    const auto* split = std::get_if<LayoutSplit>(&tree.nodes()[node]);
    if (split == nullptr) continue;
    const auto second =
        static_cast<std::size_t>(tree.second_child(static_cast<std::int32_t>(node)));
    minima[node] =
        minimum_of_split(split->axis, minima[node + 1], minima[second], metrics.splitter);
  }
  return minima;
}

// What the split at `node` divides if it has `area`.
Division division_at(const LayoutTree& tree, std::size_t node,
                     const std::vector<LayoutSize>& minima, const Extent& whole,
                     std::int32_t splitter) {
  const SplitAxis axis = std::get<LayoutSplit>(tree.nodes()[node]).axis;
  const auto second = static_cast<std::size_t>(tree.second_child(static_cast<std::int32_t>(node)));
  return {.pixels = whole.size - std::min(splitter, whole.size),
          .min_first = along(axis, minima[node + 1]),
          .min_second = along(axis, minima[second])};
}

// [num_nodes]; parents come before their children.
std::vector<LayoutRect> areas_of(const LayoutTree& tree, const LayoutRect& area,
                                 const LayoutMetrics& metrics) {
  const std::vector<LayoutSize> minima = minima_of(tree, metrics);
  std::vector<LayoutRect> areas(tree.nodes().size(), area);
  for (std::size_t node = 0; node < areas.size(); ++node) {
    const auto* split = std::get_if<LayoutSplit>(&tree.nodes()[node]);
    if (split == nullptr) continue;
    const Extent whole = extent_along(split->axis, areas[node]);
    const Division division = division_at(tree, node, minima, whole, metrics.splitter);
    const std::int32_t first = clamp_first(division, split->ratio * division.pixels);
    const std::int32_t second = division.pixels - first;
    const auto second_node =
        static_cast<std::size_t>(tree.second_child(static_cast<std::int32_t>(node)));
    areas[node + 1] = with_extent(split->axis, areas[node], {whole.begin, first});
    areas[second_node] =
        with_extent(split->axis, areas[node], {whole.begin + whole.size - second, second});
  }
  return areas;
}

// The gap between the two children.
LayoutRect between(SplitAxis axis, const LayoutRect& area, const LayoutRect& first,
                   const LayoutRect& second) {
  const Extent before = extent_along(axis, first);
  const std::int32_t begin = before.begin + before.size;
  return with_extent(axis, area, {begin, extent_along(axis, second).begin - begin});
}

void expect_no_negative(const LayoutRect& area, const LayoutMetrics& metrics) {
  HS_EXPECT(area.width >= 0 && area.height >= 0 && metrics.splitter >= 0);
  HS_EXPECT(metrics.min_leaf.width >= 0 && metrics.min_leaf.height >= 0);
}

}  // namespace

LayoutAreas place_layout(const LayoutTree& tree, const LayoutRect& area,
                         const LayoutMetrics& metrics) {
  expect_no_negative(area, metrics);
  const std::vector<LayoutRect> areas = areas_of(tree, area, metrics);
  LayoutAreas placed;
  for (std::size_t node = 0; node < areas.size(); ++node) {
    const auto number = static_cast<std::int32_t>(node);
    const auto* split = std::get_if<LayoutSplit>(&tree.nodes()[node]);
    if (split == nullptr) {
      placed.leaves.push_back({.leaf = number, .area = areas[node]});
      continue;
    }
    const LayoutRect& second = areas[static_cast<std::size_t>(tree.second_child(number))];
    placed.splitters.push_back(
        {.split = number,
         .axis = split->axis,
         .area = between(split->axis, areas[node], areas[node + 1], second)});
  }
  return placed;
}

double dragged_ratio(const LayoutTree& tree, const SplitterDrag& drag) {
  expect_no_negative(drag.area, drag.metrics);
  HS_EXPECT(tree.second_child(drag.split) > 0);  // a split
  const auto node = static_cast<std::size_t>(drag.split);
  const auto& split = std::get<LayoutSplit>(tree.nodes()[node]);
  const Extent whole = extent_along(split.axis, areas_of(tree, drag.area, drag.metrics)[node]);
  const Division division =
      division_at(tree, node, minima_of(tree, drag.metrics), whole, drag.metrics.splitter);
  if (division.pixels == 0) return split.ratio;
  const double wanted = static_cast<double>(drag.position) - whole.begin;
  return std::clamp(static_cast<double>(clamp_first(division, wanted)) / division.pixels,
                    kMinSplitRatio, kMaxSplitRatio);
}

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
