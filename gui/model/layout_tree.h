// How panels share the window: a tree of splits whose leaves hold panels as tabs, without pixels.
// A value: a copy of it is the whole of what undo has to keep.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hybridscope {

inline constexpr double kMinSplitRatio = 0.05;
inline constexpr double kMaxSplitRatio = 0.95;
// Splits above a leaf.
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
  std::optional<std::int32_t> tab = std::nullopt;  // its place among the tabs; empty: behind them
};

// Nodes are numbered from 0, the root, in the order of nodes(); numbers hold until the tree is
// changed. A number that names no node of the wanted kind breaks the contract.
// Invariants: 1. nodes in pre-order: a split, then all nodes of its first child, then all of its
// second; 2. no leaf without panels, no panel twice, `active` names a tab; 3. ratios in their
// range, no leaf below more than kMaxLayoutDepth splits.
class LayoutTree {
 public:
  LayoutTree() = default;  // empty: no node
  // Without panels: empty. Requires: no panel twice; `active` names one of the panels.
  static LayoutTree leaf(std::vector<std::string> panels, std::int32_t active = 0);
  // The other one if one child is empty. The ratio is brought into its range. Requires: no panel in
  // both; not too deep.
  static LayoutTree split(LayoutSplit split, const LayoutTree& first, const LayoutTree& second);

  bool empty() const { return nodes_.empty(); }
  std::span<const LayoutNode> nodes() const { return nodes_; }
  // Of a split; its first child is the node after it.
  std::int32_t second_child(std::int32_t split) const;
  // Splits above a node.
  std::int32_t depth(std::int32_t node) const;
  // From left to right and from top to bottom.
  std::vector<std::string> panels() const;
  std::optional<std::int32_t> leaf_of(std::string_view panel) const;
  // Whether the panel is the tab in front of its leaf.
  bool is_active(std::string_view panel) const;

  // Brings the panel to the front where it is; else adds it behind the tabs of `leaf`, or of the
  // leaf with the largest share of the window, and brings it to the front there.
  void show_panel(const std::string& panel, std::optional<std::int32_t> leaf = std::nullopt);
  // A leaf that is left without panels goes, and its sibling takes its place. The tab behind a
  // hidden one comes to the front, or the last. Not there: nothing happens.
  void hide_panel(std::string_view panel);
  // Takes the panel from where it is, if anywhere, to the target and to the front there. Nothing
  // happens to a panel that would be split from itself. At kMaxLayoutDepth it becomes a tab.
  void move_panel(std::string panel, const PanelTarget& target);
  // Not there: nothing happens.
  void activate(std::string_view panel);
  // Brought into its range.
  void set_ratio(std::int32_t split, double ratio);

  friend bool operator==(const LayoutTree&, const LayoutTree&) = default;

 private:
  std::int32_t end_of(std::int32_t node) const;  // behind the last node below it
  bool is_above(std::int32_t split, std::int32_t node) const;
  std::int32_t largest_leaf() const;
  double share_of(std::int32_t leaf) const;
  LayoutLeaf& leaf_at(std::int32_t leaf);
  void add_panel(const std::string& panel, const PanelTarget& target);
  void remove_leaf(std::int32_t leaf);

  std::vector<LayoutNode> nodes_;
};

}  // namespace hybridscope
