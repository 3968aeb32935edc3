#include "gui/model/view_state.h"

#include <algorithm>

namespace hybridscope {

const PanelInfo* ViewState::find_panel(std::string_view id) const {
  const auto found = std::ranges::find(panels, id, &PanelInfo::id);
  return found == panels.end() ? nullptr : &*found;
}

const PanelInfo* ViewState::panel_in_focus() const {
  if (layout.is_active(focused_panel)) return find_panel(focused_panel);
  for (const std::string& id : layout.panels())
    if (layout.is_active(id) && find_panel(id) != nullptr) return find_panel(id);
  return nullptr;
}

void ViewState::close_dialog() {
  dialog = Dialog::none;
  dialog_command.clear();
  dialog_text.clear();
  dialog_error.clear();
}

std::string set_apart(LayoutTree& layout, const std::string& panel) {
  constexpr double kShare = 0.27;
  LayoutTree rest = layout;
  rest.hide_panel(panel);
  const auto size = static_cast<std::int32_t>(rest.nodes().size());
  bool is_deep = rest.empty();
  for (std::int32_t node = 0; node < size; ++node)
    is_deep = is_deep || rest.depth(node) >= kMaxLayoutDepth;
  const auto at = layout.leaf_of(panel);
  std::string neighbour;
  if (at)
    for (const std::string& other :
         std::get<LayoutLeaf>(layout.nodes()[static_cast<std::size_t>(*at)]).panels)
      if (other != panel && neighbour.empty()) neighbour = other;
  if (is_deep || (at && neighbour.empty())) {
    layout.show_panel(panel);
    return {};
  }
  layout = LayoutTree::split({.axis = SplitAxis::horizontal, .ratio = kShare},
                             LayoutTree::leaf({panel}), rest);
  return neighbour;
}

void bring_back(LayoutTree& layout, const std::string& panel, std::string_view neighbour) {
  const auto at = layout.leaf_of(neighbour);
  if (!at) return;
  const LayoutLeaf leaf = std::get<LayoutLeaf>(layout.nodes()[static_cast<std::size_t>(*at)]);
  layout.move_panel(panel, {.leaf = *at});
  layout.activate(leaf.panels[static_cast<std::size_t>(leaf.active)]);
}

LayoutTree default_layout(std::span<const PanelInfo> panels) {
  const auto leaf = [&](PanelArea area) {
    std::vector<PanelInfo> tabs;
    for (const PanelInfo& panel : panels)
      if (panel.area == area) tabs.push_back(panel);
    std::ranges::stable_sort(tabs, {}, &PanelInfo::tab);
    std::vector<std::string> ids;
    for (const PanelInfo& panel : tabs) ids.emplace_back(panel.id);
    return ids.empty() ? LayoutTree() : LayoutTree::leaf(ids);
  };
  const LayoutTree left =
      LayoutTree::split({.axis = SplitAxis::vertical, .ratio = 0.66}, leaf(PanelArea::left_top),
                        leaf(PanelArea::left_bottom));
  const LayoutTree right =
      LayoutTree::split({.axis = SplitAxis::vertical, .ratio = 0.5}, leaf(PanelArea::right_top),
                        leaf(PanelArea::right_bottom));
  return LayoutTree::split({.axis = SplitAxis::horizontal, .ratio = 0.58}, left, right);
}

}  // namespace hybridscope
