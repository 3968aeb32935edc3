#include "gui/tab_menu.h"

#include <fmt/format.h>

#include "gui/model/command_table.h"
#include "gui/model/content_render.h"

namespace hybridscope {
namespace {

void item(PanelContext& context, const std::string& title, const char* command,
          const std::string& argument) {
  const CommandRow* row = find_command(command);
  const bool possible = row != nullptr && is_possible(*row, context.workbench);
  if (ImGui::MenuItem(title.c_str(), nullptr, false, possible)) context.emit(command, argument);
  context.mark("tab menu " + title);
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
  // The dialog then suggests a name for this panel, which has to be in front for its picture.
  if (ImGui::MenuItem("Export as PNG...", nullptr, false, context.workbench.has_step())) {
    context.emit("panel.show", id);
    context.emit("panel.export_png");
  }
  context.mark("tab menu Export as PNG...");
  ImGui::Separator();
  item(context, "Close", "panel.hide", id);
  ImGui::EndPopup();
}

}  // namespace hybridscope
