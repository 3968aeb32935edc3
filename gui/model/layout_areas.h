// A layout tree in pixels: where its leaves and the splitters between them are, and what dragging a
// splitter does.
#pragma once

#include <cstdint>
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

}  // namespace hybridscope
