#include "gui/model/layout_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
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
