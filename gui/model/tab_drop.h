// Where a panel dragged by its tab lands: among the tabs of a leaf, or in a half of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gui/model/layout_areas.h"
#include "gui/model/layout_tree.h"

namespace hybridscope {

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
