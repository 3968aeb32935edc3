#include "gui/model/layout_areas.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

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

}  // namespace hybridscope
