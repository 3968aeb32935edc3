#include "gui/model/layout_tree.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/base/check.h"

namespace hybridscope {
namespace {

std::int32_t size_of(const auto& list) { return static_cast<std::int32_t>(list.size()); }

bool names_one(std::int32_t index, const auto& list) { return index >= 0 && index < size_of(list); }

bool no_panel_twice(const std::vector<std::string>& panels) {
  return std::set<std::string>(panels.begin(), panels.end()).size() == panels.size();
}

double in_range(double ratio) {
  HS_EXPECT(!std::isnan(ratio));
  return std::clamp(ratio, kMinSplitRatio, kMaxSplitRatio);
}

bool comes_first(LeafPlace place) { return place == LeafPlace::left || place == LeafPlace::top; }

SplitAxis axis_of(LeafPlace place) {
  const bool beside = place == LeafPlace::left || place == LeafPlace::right;
  return beside ? SplitAxis::horizontal : SplitAxis::vertical;
}

// The index of `panel` among the tabs, or their number.
std::int32_t tab_of(const LayoutLeaf& leaf, std::string_view panel) {
  return static_cast<std::int32_t>(std::ranges::find(leaf.panels, panel) - leaf.panels.begin());
}

}  // namespace

LayoutTree LayoutTree::leaf(std::vector<std::string> panels, std::int32_t active) {
  LayoutTree tree;
  if (panels.empty()) return tree;
  HS_EXPECT(names_one(active, panels));
  HS_EXPECT(no_panel_twice(panels));
  tree.nodes_.emplace_back(LayoutLeaf{std::move(panels), active});
  return tree;
}

LayoutTree LayoutTree::split(LayoutSplit split, const LayoutTree& first, const LayoutTree& second) {
  split.ratio = in_range(split.ratio);
  if (first.empty()) return second;
  if (second.empty()) return first;
  LayoutTree tree;
  tree.nodes_.emplace_back(split);
  tree.nodes_.insert(tree.nodes_.end(), first.nodes_.begin(), first.nodes_.end());
  tree.nodes_.insert(tree.nodes_.end(), second.nodes_.begin(), second.nodes_.end());
  HS_EXPECT(no_panel_twice(tree.panels()));
  for (std::int32_t node = 0; node < size_of(tree.nodes_); ++node)
    HS_EXPECT(tree.depth(node) <= kMaxLayoutDepth);
  return tree;
}

std::int32_t LayoutTree::end_of(std::int32_t node) const {
  HS_EXPECT(names_one(node, nodes_));
  for (std::int32_t open = 1; open > 0; ++node)
    open += std::holds_alternative<LayoutSplit>(nodes_[static_cast<std::size_t>(node)]) ? 1 : -1;
  return node;
}

std::int32_t LayoutTree::second_child(std::int32_t split) const {
  HS_EXPECT(names_one(split, nodes_));
  HS_EXPECT(std::holds_alternative<LayoutSplit>(nodes_[static_cast<std::size_t>(split)]));
  return end_of(split + 1);
}

bool LayoutTree::is_above(std::int32_t split, std::int32_t node) const {
  return split < node && node < end_of(split);
}

std::int32_t LayoutTree::depth(std::int32_t node) const {
  HS_EXPECT(names_one(node, nodes_));
  std::int32_t above = 0;
  for (std::int32_t split = 0; split < node; ++split) above += is_above(split, node) ? 1 : 0;
  return above;
}

std::vector<std::string> LayoutTree::panels() const {
  std::vector<std::string> all;
  for (const LayoutNode& node : nodes_)
    if (const auto* leaf = std::get_if<LayoutLeaf>(&node))
      all.insert(all.end(), leaf->panels.begin(), leaf->panels.end());
  return all;
}

std::optional<std::int32_t> LayoutTree::leaf_of(std::string_view panel) const {
  for (std::size_t node = 0; node < nodes_.size(); ++node)
    if (const auto* leaf = std::get_if<LayoutLeaf>(&nodes_[node]))
      if (names_one(tab_of(*leaf, panel), leaf->panels)) return static_cast<std::int32_t>(node);
  return std::nullopt;
}

bool LayoutTree::is_active(std::string_view panel) const {
  const std::optional<std::int32_t> node = leaf_of(panel);
  if (!node) return false;
  const auto& leaf = std::get<LayoutLeaf>(nodes_[static_cast<std::size_t>(*node)]);
  return leaf.active == tab_of(leaf, panel);
}

// The leaf's share of the window.
double LayoutTree::share_of(std::int32_t leaf) const {
  double share = 1;
  for (std::int32_t node = 0; node < leaf; ++node) {
    if (!is_above(node, leaf)) continue;
    const double ratio = std::get<LayoutSplit>(nodes_[static_cast<std::size_t>(node)]).ratio;
    share *= leaf < second_child(node) ? ratio : 1 - ratio;
  }
  return share;
}

std::int32_t LayoutTree::largest_leaf() const {
  std::int32_t largest = -1;
  double largest_share = 0;
  for (std::int32_t node = 0; node < size_of(nodes_); ++node) {
    if (std::holds_alternative<LayoutSplit>(nodes_[static_cast<std::size_t>(node)])) continue;
    const double share = share_of(node);
    if (share <= largest_share) continue;
    largest = node;
    largest_share = share;
  }
  return largest;
}

LayoutLeaf& LayoutTree::leaf_at(std::int32_t leaf) {
  HS_EXPECT(names_one(leaf, nodes_));
  auto* found = std::get_if<LayoutLeaf>(&nodes_[static_cast<std::size_t>(leaf)]);
  HS_EXPECT(found != nullptr);
  return *found;
}

void LayoutTree::add_panel(const std::string& panel, const PanelTarget& target) {
  LayoutLeaf& leaf = leaf_at(target.leaf);
  if (target.place == LeafPlace::tab || depth(target.leaf) >= kMaxLayoutDepth) {
    leaf.active = std::clamp(target.tab.value_or(size_of(leaf.panels)), 0, size_of(leaf.panels));
    leaf.panels.insert(leaf.panels.begin() + leaf.active, panel);
    return;
  }
  const auto split = nodes_.insert(nodes_.begin() + target.leaf,
                                   LayoutSplit{.axis = axis_of(target.place), .ratio = 0.5});
  nodes_.insert(split + (comes_first(target.place) ? 1 : 2), LayoutLeaf{{panel}, 0});
}

void LayoutTree::remove_leaf(std::int32_t leaf) {
  std::int32_t parent = leaf - 1;
  while (parent >= 0 && !is_above(parent, leaf)) --parent;
  nodes_.erase(nodes_.begin() + leaf);
  if (parent >= 0) nodes_.erase(nodes_.begin() + parent);
}

void LayoutTree::show_panel(const std::string& panel, std::optional<std::int32_t> leaf) {
  if (leaf_of(panel)) return activate(panel);
  if (empty())
    nodes_.emplace_back(LayoutLeaf{{panel}, 0});
  else
    add_panel(panel, {.leaf = leaf.value_or(largest_leaf())});
}

void LayoutTree::hide_panel(std::string_view panel) {
  const std::optional<std::int32_t> node = leaf_of(panel);
  if (!node) return;
  LayoutLeaf& leaf = leaf_at(*node);
  const std::int32_t tab = tab_of(leaf, panel);
  if (leaf.panels.size() == 1) return remove_leaf(*node);
  leaf.panels.erase(leaf.panels.begin() + tab);
  if (tab < leaf.active || leaf.active == size_of(leaf.panels)) --leaf.active;
}

void LayoutTree::move_panel(std::string panel, const PanelTarget& target) {
  const std::vector<std::string>& there = leaf_at(target.leaf).panels;
  const auto other = std::ranges::find_if(there, [&](const auto& id) { return id != panel; });
  if (other == there.end()) return;
  const std::string neighbour = *other;  // finds the leaf again after numbers have changed
  hide_panel(panel);
  add_panel(panel, {.leaf = *leaf_of(neighbour), .place = target.place, .tab = target.tab});
}

void LayoutTree::activate(std::string_view panel) {
  const std::optional<std::int32_t> node = leaf_of(panel);
  if (!node) return;
  LayoutLeaf& leaf = leaf_at(*node);
  leaf.active = tab_of(leaf, panel);
}

void LayoutTree::set_ratio(std::int32_t split, double ratio) {
  HS_EXPECT(names_one(split, nodes_));
  auto* found = std::get_if<LayoutSplit>(&nodes_[static_cast<std::size_t>(split)]);
  HS_EXPECT(found != nullptr);
  found->ratio = in_range(ratio);
}

}  // namespace hybridscope
