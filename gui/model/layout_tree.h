// How panels share the window: a tree of splits whose leaves hold panels as tabs, without pixels (a
// plain value, so undo only keeps copies); and the same tree in pixels.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

inline constexpr double kMinSplitRatio = 0.05;
inline constexpr double kMaxSplitRatio = 0.95;
// The most splits above a leaf.
inline constexpr std::int32_t kMaxLayoutDepth = 32;

enum class SplitAxis { horizontal, vertical };  // children side by side, one above the other

struct LayoutSplit {
  SplitAxis axis = SplitAxis::horizontal;
  double ratio = 0.5;  // of the first (left, upper) child, kMinSplitRatio to kMaxSplitRatio
  friend bool operator==(const LayoutSplit&, const LayoutSplit&) = default;
};

struct LayoutLeaf {
  std::vector<std::string> panels;  // [num_tabs] ids, from left to right
  std::int32_t active = 0;          // the tab in front
  friend bool operator==(const LayoutLeaf&, const LayoutLeaf&) = default;
};

using LayoutNode = std::variant<LayoutSplit, LayoutLeaf>;

enum class LeafPlace { tab, left, right, top, bottom };

// Where a panel goes: a tab of a leaf, or a new leaf that takes half of it.
struct PanelTarget {
  std::int32_t leaf = 0;
  LeafPlace place = LeafPlace::tab;
  std::optional<std::int32_t> tab =
      std::nullopt;  // its place among the tabs; empty: after the last
};

// Nodes are numbered from 0, the root, in the order of nodes(); numbers are valid until the tree is
// changed. A number without a node of the required kind is a contract violation.
// Invariants: 1. nodes in pre-order: a split, then all nodes of its first child, then all of its
// second; 2. no leaf without panels, no panel twice, `active` is a tab; 3. ratios in range, no leaf
// below more than kMaxLayoutDepth splits.
class LayoutTree {
 public:
  LayoutTree() = default;  // empty: no node
  // Empty without panels. Requires: no panel twice; `active` is the index of a panel.
  static LayoutTree leaf(std::vector<std::string> panels, std::int32_t active = 0);
  // If one child is empty, the other one. The ratio is clamped to its range. Requires: no panel in
  // both; not too deep.
  static LayoutTree split(LayoutSplit split, const LayoutTree& first, const LayoutTree& second);

  bool empty() const { return nodes_.empty(); }
  std::span<const LayoutNode> nodes() const { return nodes_; }
  // The second child of a split; its first child is the node after it.
  std::int32_t second_child(std::int32_t split) const;
  // Splits above a node.
  std::int32_t depth(std::int32_t node) const;
  // From left to right and from top to bottom.
  std::vector<std::string> panels() const;
  std::optional<std::int32_t> leaf_of(std::string_view panel) const;
  // Whether the panel is the tab in front of its leaf.
  bool is_active(std::string_view panel) const;

  // Brings the panel to the front where it is; else adds it after the tabs of `leaf`, or of the
  // leaf with the largest share of the window, and brings it to the front there.
  void show_panel(const std::string& panel, std::optional<std::int32_t> leaf = std::nullopt);
  // A leaf left without panels is removed, and its sibling takes its place. The tab after a hidden
  // one comes to the front, or the last. No effect if the panel is not shown.
  void hide_panel(std::string_view panel);
  // Moves or adds the panel to the target and brings it to the front there. No effect if a panel
  // would be split from itself. At kMaxLayoutDepth it becomes a tab.
  void move_panel(std::string panel, const PanelTarget& target);
  // No effect if the panel is not shown.
  void activate(std::string_view panel);
  // The ratio is clamped to its range.
  void set_ratio(std::int32_t split, double ratio);

  friend bool operator==(const LayoutTree&, const LayoutTree&) = default;

 private:
  std::int32_t end_of(std::int32_t node) const;  // one past the last node below it
  bool is_above(std::int32_t split, std::int32_t node) const;
  std::int32_t largest_leaf() const;
  double share_of(std::int32_t leaf) const;
  LayoutLeaf& leaf_at(std::int32_t leaf);
  void add_panel(const std::string& panel, const PanelTarget& target);
  void remove_leaf(std::int32_t leaf);

  std::vector<LayoutNode> nodes_;
};

// A layout as JSON text, both ways:
//   {"version": 1, "layout": {"split": "horizontal", "ratio": 0.7,
//                             "first": {"panels": ["pool", "batch"], "active": "batch"},
//                             "second": {"panels": ["log"]}}}
// "layout" is null for an empty layout; "active" may be absent: the first panel.

inline constexpr int kLayoutVersion = 1;
// Per layout, known panels or not.
inline constexpr std::size_t kMaxLayoutPanels = 256;

std::string layout_to_json(const LayoutTree& tree);

using IsKnownPanel = std::function<bool(std::string_view panel)>;

struct ReadLayout {
  LayoutTree tree;
  std::vector<std::string> notes;  // "FILE: POINTER: ...", one for each ignored panel
};

// An unknown panel is ignored with a note; so is a leaf with no other panels. Error corrupt: not
// JSON; invalid_input: unknown keys, another version, a panel twice, an active panel that is not in
// its leaf, a ratio out of range, splits nested too deeply, too many panels.
Result<ReadLayout> read_layout(std::string_view text, const std::string& file,
                               const IsKnownPanel& is_known);

// A layout tree in pixels: where its leaves and the splitters between them are, and what dragging a
// splitter does.

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
