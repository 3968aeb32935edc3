// A layout tree in pixels: where its leaves and the splitters between them are, and what dragging a
// splitter does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/layout_tree.h"

namespace hybridscope {

// Right and bottom edges are x + width and y + height; neither size is negative.
struct LayoutRect {
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::int32_t width = 0;
  std::int32_t height = 0;
  friend bool operator==(const LayoutRect&, const LayoutRect&) = default;
};

struct LayoutSize {
  std::int32_t width = 0;
  std::int32_t height = 0;
  friend bool operator==(const LayoutSize&, const LayoutSize&) = default;
};

// In pixels, already multiplied by the UI scale.
struct LayoutMetrics {
  std::int32_t splitter = 4;
  LayoutSize min_leaf{.width = 120, .height = 60};
};

struct LeafArea {
  std::int32_t leaf = 0;
  LayoutRect area;
  friend bool operator==(const LeafArea&, const LeafArea&) = default;
};

struct SplitterArea {
  std::int32_t split = 0;
  SplitAxis axis = SplitAxis::horizontal;  // horizontal: dragged along x
  LayoutRect area;
  friend bool operator==(const SplitterArea&, const SplitterArea&) = default;
};

// Leaves and splitters together cover the given area exactly, without overlap.
struct LayoutAreas {
  std::vector<LeafArea> leaves;
  std::vector<SplitterArea> splitters;
};

// The leaves' minima take precedence over ratios. Where the minima do not fit they shrink in
// proportion, down to nothing. Requires: no negative number.
LayoutAreas place_layout(const LayoutTree& tree, const LayoutRect& area,
                         const LayoutMetrics& metrics);

// A splitter dragged so that it begins at x (horizontal) or y (vertical) = `position`.
struct SplitterDrag {
  std::int32_t split = 0;
  std::int32_t position = 0;
  LayoutRect area = {};  // of the whole tree
  LayoutMetrics metrics = {};
};

// The ratio for LayoutTree::set_ratio: as close to the position as the minima and the range of
// ratios allow.
double dragged_ratio(const LayoutTree& tree, const SplitterDrag& drag);

// Where a panel dragged by its tab lands: among the tabs of a leaf, or in a half of it.

// Where a tab was drawn.
struct TabBox {
  std::string_view panel;
  LayoutRect area;
};

struct DraggedTab {
  std::string_view panel;
  std::int32_t x = 0;  // of the mouse
  std::int32_t y = 0;
  std::int32_t bar_height = 0;  // of the tab bar, from a leaf's upper edge
};

struct TabDrop {
  std::string argument;  // of the command panel.move
  LayoutRect preview;    // what the panel, or the tab bar it joins, will cover
  std::optional<LayoutRect> gap = std::nullopt;  // between two tabs
};

// On a leaf's tab bar: between the tabs where it is dropped. Near an edge of a leaf, within
// kEdgeShare of its size: the half at that edge. In the middle: the last tab. Empty: outside all
// leaves, or the panel would stay where it is. `tabs`: the tabs that were drawn.
inline constexpr double kEdgeShare = 0.3;
std::optional<TabDrop> tab_drop(const LayoutTree& tree, const LayoutAreas& areas,
                                const DraggedTab& dragged, std::span<const TabBox> tabs);

}  // namespace hybridscope
