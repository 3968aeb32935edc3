#include "gui/model/layout_tree.h"

#include <fmt/core.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "core/base/result.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"

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

namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(SplitAxis axis) {
  return axis == SplitAxis::horizontal ? "horizontal" : "vertical";
}

Json node_to_json(const LayoutTree& tree, std::int32_t number) {
  const LayoutNode& node = tree.nodes()[static_cast<std::size_t>(number)];
  Json json = Json::object();
  if (const auto* leaf = std::get_if<LayoutLeaf>(&node)) {
    json["panels"] = leaf->panels;
    json["active"] = leaf->panels[static_cast<std::size_t>(leaf->active)];
    return json;
  }
  const auto& split = std::get<LayoutSplit>(node);
  json["split"] = name_of(split.axis);
  json["ratio"] = split.ratio;
  json["first"] = node_to_json(tree, number + 1);
  json["second"] = node_to_json(tree, tree.second_child(number));
  return json;
}

class LayoutReader {
 public:
  LayoutReader(const IsKnownPanel& is_known, const std::string& file)
      : is_known_(is_known), file_(file) {}

  LayoutTree read_node(const JsonValue& place, std::int32_t depth) {
    if (place.find("split")) return read_split(place, depth);
    return read_leaf(place);
  }
  std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  LayoutTree read_split(const JsonValue& place, std::int32_t depth) {
    if (depth == kMaxLayoutDepth)
      place.fail(fmt::format("a split below {} others (expected at most {} nested)", depth,
                             kMaxLayoutDepth));
    place.check_keys({"split", "ratio", "first", "second"});
    LayoutSplit split;
    split.axis = read_axis(place.require("split"));
    split.ratio = read_ratio(place.require("ratio"));
    const LayoutTree first = read_node(place.require("first"), depth + 1);
    const LayoutTree second = read_node(place.require("second"), depth + 1);
    return LayoutTree::split(split, first, second);
  }

  SplitAxis read_axis(const JsonValue& place) {
    const std::string name = place.string();
    for (const SplitAxis axis : {SplitAxis::horizontal, SplitAxis::vertical})
      if (name == name_of(axis)) return axis;
    place.expected("\"horizontal\" or \"vertical\"");
  }

  double read_ratio(const JsonValue& place) { return place.number(kMinSplitRatio, kMaxSplitRatio); }

  LayoutTree read_leaf(const JsonValue& place) {
    place.check_keys({"panels", "active"});
    const std::vector<JsonValue> elements = place.require("panels").elements();
    std::vector<std::string> panels;  // known or not
    for (const JsonValue& element : elements) panels.push_back(read_panel(element));
    const std::optional<std::string> active = place.string_at("active");
    if (active && std::find(panels.begin(), panels.end(), *active) == panels.end())
      place.fail_at("active", fmt::format("expected one of the panels of this leaf, found {}",
                                          quoted_text(*active)));
    std::vector<std::string> known;
    for (std::size_t i = 0; i < panels.size(); ++i) {
      if (is_known_(panels[i]))
        known.push_back(panels[i]);
      else
        note_unknown(elements[i].pointer(), panels[i]);
    }
    LayoutTree leaf = LayoutTree::leaf(std::move(known));
    if (active) leaf.activate(*active);
    return leaf;
  }

  void note_unknown(const std::string& pointer, std::string_view panel) {
    notes_.push_back(fmt::format("{}: {}: there is no panel {}; it was left out", file_, pointer,
                                 quoted_text(panel)));
  }

  std::string read_panel(const JsonValue& place) {
    std::string panel = place.name();
    if (!panels_.insert(panel).second)
      place.fail(
          fmt::format("panel {} is in the layout twice (expected once)", quoted_text(panel)));
    if (panels_.size() > kMaxLayoutPanels)
      place.fail(fmt::format("more than {} panels (expected at most as many)", kMaxLayoutPanels));
    return panel;
  }

  const IsKnownPanel& is_known_;
  const std::string& file_;
  std::set<std::string> panels_;
  std::vector<std::string> notes_;
};

void check_version(const JsonValue& top) {
  const JsonValue version = top.require("version");
  if (version.whole() != kLayoutVersion)
    version.fail(
        fmt::format("layout version {} (expected {})", version.describe(), kLayoutVersion));
}

}  // namespace

std::string layout_to_json(const LayoutTree& tree) {
  Json json = Json::object();
  json["version"] = kLayoutVersion;
  json["layout"] = tree.empty() ? Json(nullptr) : node_to_json(tree, 0);
  return json.dump(2) + "\n";
}

Result<ReadLayout> read_layout(std::string_view text, const std::string& file,
                               const IsKnownPanel& is_known) {
  const auto document = parse_json({.text = text, .file = file});
  if (!document.ok()) return document.error();
  return read_json(file, [&] {
    const JsonValue top(document.value());
    top.check_keys({"version", "layout"});
    check_version(top);
    LayoutReader layout(is_known, file);
    LayoutTree tree;
    if (const JsonValue root = top.require("layout"); !root.is_null())
      tree = layout.read_node(root, 0);
    return ReadLayout{.tree = std::move(tree), .notes = layout.take_notes()};
  });
}

}  // namespace hybridscope
