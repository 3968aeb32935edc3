#include "gui/model/layout_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "sessions/text/json_reader.h"
#include "sessions/text/object_reader.h"

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
  LayoutReader(const IsKnownPanel& is_known, JsonErrors& errors)
      : is_known_(is_known), errors_(errors) {}

  LayoutTree read_node(const JsonPlace& place, std::int32_t depth) {
    if (place.value->is_object() && place.value->contains("split")) return read_split(place, depth);
    return read_leaf(place);
  }
  std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  LayoutTree read_split(const JsonPlace& place, std::int32_t depth) {
    if (depth == kMaxLayoutDepth) {
      errors_.fail(place.pointer,
                   fmt::format("a split below {} others (expected at most {} nested)", depth,
                               kMaxLayoutDepth));
      return {};
    }
    const ObjectReader reader(place, {"split", "ratio", "first", "second"}, errors_);
    LayoutSplit split;
    if (const auto axis = reader.require("split")) split.axis = read_axis(*axis);
    if (const auto ratio = reader.require("ratio")) split.ratio = read_ratio(*ratio);
    LayoutTree first;
    LayoutTree second;
    if (const auto child = reader.require("first")) first = read_node(*child, depth + 1);
    if (const auto child = reader.require("second")) second = read_node(*child, depth + 1);
    // After an error the tree is not used, and it may violate the invariants.
    return errors_.failed() ? LayoutTree() : LayoutTree::split(split, first, second);
  }

  SplitAxis read_axis(const JsonPlace& place) {
    const std::string name = read_string(place, errors_);
    for (const SplitAxis axis : {SplitAxis::horizontal, SplitAxis::vertical})
      if (name == name_of(axis)) return axis;
    errors_.fail(place.pointer, fmt::format("expected \"horizontal\" or \"vertical\", found {}",
                                            describe_json(*place.value)));
    return {};
  }

  double read_ratio(const JsonPlace& place) {
    const double ratio = place.value->is_number() ? place.value->get<double>() : 0;
    if (ratio >= kMinSplitRatio && ratio <= kMaxSplitRatio) return ratio;
    errors_.fail(place.pointer,
                 fmt::format("expected a number from {} to {}, found {}", kMinSplitRatio,
                             kMaxSplitRatio, describe_json(*place.value)));
    return kMinSplitRatio;
  }

  LayoutTree read_leaf(const JsonPlace& place) {
    const ObjectReader reader(place, {"panels", "active"}, errors_);
    std::vector<std::string> panels;  // known or not
    if (const auto list = reader.require("panels"))
      for (const JsonPlace& element : read_array(*list, errors_))
        panels.push_back(read_panel(element));
    const std::optional<std::string> active = reader.string("active");
    if (active && std::find(panels.begin(), panels.end(), *active) == panels.end())
      errors_.fail(
          child_pointer(place.pointer, "active"),
          fmt::format("expected one of the panels of this leaf, found {}", quoted_text(*active)));
    if (errors_.failed()) return {};
    std::vector<std::string> known;
    for (std::size_t i = 0; i < panels.size(); ++i) {
      if (is_known_(panels[i]))
        known.push_back(panels[i]);
      else
        note_unknown(child_pointer(child_pointer(place.pointer, "panels"), i), panels[i]);
    }
    LayoutTree leaf = LayoutTree::leaf(std::move(known));
    if (active) leaf.activate(*active);
    return leaf;
  }

  void note_unknown(const std::string& pointer, std::string_view panel) {
    notes_.push_back(fmt::format("{}: {}: there is no panel {}; it was left out", errors_.file(),
                                 pointer, quoted_text(panel)));
  }

  std::string read_panel(const JsonPlace& place) {
    std::string panel = read_name(place, errors_);
    if (!panels_.insert(panel).second)
      errors_.fail(place.pointer, fmt::format("panel {} is in the layout twice (expected once)",
                                              quoted_text(panel)));
    if (panels_.size() > kMaxLayoutPanels)
      errors_.fail(place.pointer,
                   fmt::format("more than {} panels (expected at most as many)", kMaxLayoutPanels));
    return panel;
  }

  const IsKnownPanel& is_known_;
  JsonErrors& errors_;
  std::set<std::string> panels_;
  std::vector<std::string> notes_;
};

void check_version(const ObjectReader& reader, JsonErrors& errors) {
  const auto version = reader.require("version");
  if (!version || whole_number(*version->value) == kLayoutVersion) return;
  errors.fail(version->pointer, fmt::format("layout version {} (expected {})",
                                            describe_json(*version->value), kLayoutVersion));
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
  JsonErrors errors(file);
  const ObjectReader reader({.value = &document.value(), .pointer = ""}, {"version", "layout"},
                            errors);
  check_version(reader, errors);
  LayoutReader layout(is_known, errors);
  LayoutTree tree;
  if (const auto root = reader.require("layout"); root && !root->value->is_null())
    tree = layout.read_node(*root, 0);
  if (errors.failed()) return errors.error();
  return ReadLayout{.tree = std::move(tree), .notes = layout.take_notes()};
}

}  // namespace hybridscope
