#include "gui/tab_drag.h"

#include <fmt/core.h>

#include <utility>

#include "gui/model/command_table.h"
#include "gui/model/content_render.h"
#include "gui/model/layout_tree.h"
#include "gui/widgets.h"

namespace hybridscope {

namespace {

void item(PanelContext& context, const std::string& title, const char* command,
          const std::string& argument) {
  const CommandRow* row = find_command(command);
  const bool possible = row != nullptr && is_possible(*row, context.workbench);
  if (ImGui::MenuItem(title.c_str(), nullptr, false, possible)) context.emit(command, argument);
  context.mark("tab menu " + title);
}

std::int32_t truncated(float value) { return static_cast<std::int32_t>(value); }

LayoutRect rect_of(const ItemBox& box) {
  return {truncated(box.min.x), truncated(box.min.y), truncated(box.max.x - box.min.x),
          truncated(box.max.y - box.min.y)};
}

ItemBox box_of(const LayoutRect& rect) {
  return {{static_cast<float>(rect.x), static_cast<float>(rect.y)},
          {static_cast<float>(rect.x + rect.width), static_cast<float>(rect.y + rect.height)}};
}

void draw_preview(PanelContext& context, const TabDrop& drop) {
  const Look& look = context.look;
  ImDrawList& list = *ImGui::GetForegroundDrawList();
  Rgba veil = look.ui().accent;
  veil.a = 70;
  const ItemBox box = box_of(drop.preview);
  list.AddRectFilled(box.min, box.max, packed(veil), look.px(3));
  list.AddRect(box.min, box.max, packed(look.ui().focus), look.px(3), 0, look.px(2));
  context.mark("drop preview", box);
  if (!drop.gap) return;
  const ItemBox gap = box_of(*drop.gap);
  list.AddRectFilled(gap.min, gap.max, packed(look.ui().focus));
}

// The title beside the mouse.
void draw_title(PanelContext& context, const std::string& panel) {
  const PanelInfo* info = context.workbench.view().find_panel(panel);
  if (info == nullptr) return;
  const Look& look = context.look;
  const ImVec2 mouse = ImGui::GetMousePos();
  const ImVec2 at(mouse.x + look.px(14), mouse.y + look.px(10));
  const ImVec2 end(at.x + text_width(look.fonts.words, info->title) + look.px(12),
                   at.y + look.fonts.words->FontSize + look.px(8));
  ImDrawList& list = *ImGui::GetForegroundDrawList();
  list.AddRectFilled(at, end, packed(look.ui().header), look.px(3));
  list.AddRect(at, end, packed(look.ui().border), look.px(3), 0, 1);
  draw_text(list, look.fonts.words, ImVec2(at.x + look.px(6), at.y + look.px(4)),
            packed(look.ui().text), info->title);
}

}  // namespace

void draw_tab_cue(const Look& look, TabCue cue) {
  const ImVec2 min = ImGui::GetItemRectMin();
  const ImVec2 max = ImGui::GetItemRectMax();
  ImGui::GetWindowDrawList()->AddRectFilled(
      min, ImVec2(max.x, min.y + look.px(2)),
      packed(cue == TabCue::focused ? look.ui().accent : look.ui().text_dim));
}

void draw_tab_menu(PanelContext& context, const PanelInfo& panel) {
  if (!ImGui::BeginPopupContextItem()) return;
  const std::string id(panel.id);
  for (const ContentFormat format : kContentFormats)
    item(context, fmt::format("Copy as {}", content_format_title(format)), "edit.copy_panel",
         fmt::format("{} {}", content_format_name(format), id));
  ImGui::Separator();
  // Focuses the panel first: the dialog suggests its name, and a picture needs it in front.
  if (ImGui::MenuItem("Export as PNG...", nullptr, false, context.workbench.has_step())) {
    context.emit("panel.show", id);
    context.emit("panel.export_png");
  }
  context.mark("tab menu Export as PNG...");
  ImGui::Separator();
  item(context, "Close", "panel.hide", id);
  ImGui::EndPopup();
}

void TabDrag::watch(PanelContext& context, const std::string& panel) {
  tabs_.push_back({panel, {ImGui::GetItemRectMin(), ImGui::GetItemRectMax()}});
  if (ImGui::IsItemActive() && !cancelled_ &&
      ImGui::IsMouseDragging(ImGuiMouseButton_Left, context.look.px(6)))
    panel_ = panel;
}

void TabDrag::draw(PanelContext& context, const LayoutAreas& areas) {
  const std::vector<DrawnTab> drawn = std::exchange(tabs_, {});
  const bool is_down = ImGui::IsMouseDown(ImGuiMouseButton_Left);
  if (!is_down) cancelled_ = false;
  if (panel_.empty()) return;
  std::vector<TabBox> tabs;
  for (const DrawnTab& tab : drawn) tabs.push_back({tab.panel, rect_of(tab.box)});
  const ImVec2 mouse = ImGui::GetMousePos();
  const auto drop = tab_drop(
      context.workbench.view().layout, areas,
      {.panel = panel_,
       .x = truncated(mouse.x),
       .y = truncated(mouse.y),
       .bar_height = truncated(ImGui::GetFrameHeight() + ImGui::GetStyle().WindowPadding.y)},
      tabs);
  if (!is_down) {
    if (drop) context.emit("panel.move", drop->argument);
    panel_.clear();
    return;
  }
  if (drop) draw_preview(context, *drop);
  draw_title(context, panel_);
}

void TabDrag::cancel() {
  panel_.clear();
  cancelled_ = true;
}

}  // namespace hybridscope
