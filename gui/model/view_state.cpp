#include "gui/model/view_state.h"

#include <algorithm>
#include <utility>

#include "gui/model/shown_run.h"

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

std::int32_t block_of_cell(const ShownRun& run, const Selection& cell) {
  if (run.step() == 0 || cell.request.value < 0) return -1;
  const StepView view = run.view();
  if (cell.group < 0 || cell.group >= view.scheduler_tables.num_groups() || cell.column < 0)
    return -1;
  const auto ids = cell.side == TableSide::worker
                       ? view.worker_tables.block_ids(cell.request, cell.group)
                       : view.scheduler_tables.block_ids(cell.request, cell.group);
  const auto at = static_cast<std::size_t>(cell.column);
  return at < ids.size() ? ids[at] : -1;
}

namespace {

struct Holder {
  RequestId request{};
  std::int32_t group = -1;
};

// By the scheduler's tables; `wanted` if it holds the block. Request -1: no request holds it.
Holder holder_of(const ShownRun& run, std::int32_t block, RequestId wanted) {
  Holder found;
  if (run.step() == 0) return found;
  const StepView view = run.view();
  if (block <= kNullBlock || block >= view.scheduler_tables.num_blocks() ||
      view.scheduler_tables.holders(block) == 0)
    return found;
  for (const RequestId request : view.scheduler_tables.requests())
    for (std::int32_t group = 0; group < view.scheduler_tables.num_groups(); ++group) {
      const auto ids = view.scheduler_tables.block_ids(request, group);
      if (std::ranges::find(ids, block) == ids.end()) continue;
      if (found.request.value < 0 || request == wanted) found = {request, group};
    }
  return found;
}

}  // namespace

Selection with_block(const ShownRun& run, Selection chosen, std::int32_t block) {
  const bool of_the_cell = block_of_cell(run, chosen) == block;
  chosen.block = block;
  chosen.is_cell = false;
  if (of_the_cell) return chosen;
  const Holder holder = holder_of(run, block, chosen.request);
  chosen.request = holder.request;
  chosen.request_name = holder.request.value < 0 ? "" : run.names().request(holder.request);
  chosen.group = holder.group;
  chosen.column = -1;
  return chosen;
}

Selection with_request(Selection chosen, std::string name) {
  if (chosen.request_name == name) return chosen;
  chosen.request_name = std::move(name);
  chosen.column = -1;
  chosen.block = -1;
  chosen.is_cell = false;
  return chosen;
}

Selection selection_in(const ShownRun& run, const Selection& chosen) {
  Selection here = chosen;
  here.finding = -1;
  here.request = run.find_request(chosen.request_name);
  if (chosen.is_cell) here.block = block_of_cell(run, here);
  return here;
}

}  // namespace hybridscope
