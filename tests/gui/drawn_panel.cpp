#include "tests/gui/drawn_panel.h"

#include <fmt/core.h>
#include <imgui.h>
#include <imgui_internal.h>

#include <string_view>

namespace hybridscope::test {
namespace {

// Shell draws each panel in a child window of this name; the panel's own children are below it.
bool is_of_panel(std::string_view window) {
  return window.find("/body_") != std::string_view::npos;
}

bool scrolls_sideways(const ImGuiWindow& window) {
  return (window.Flags & ImGuiWindowFlags_HorizontalScrollbar) != 0;
}

}  // namespace

DrawnPanel drawn_panels() {
  DrawnPanel drawn;
  const ImDrawData& data = *ImGui::GetDrawData();
  for (int i = 0; i < data.CmdListsCount; ++i) {
    const ImDrawList& list = *data.CmdLists[i];
    if (is_of_panel(list._OwnerName)) drawn.vertices += list.VtxBuffer.Size;
  }
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows) {
    if (!window->Active || !is_of_panel(window->Name)) continue;
    if (window->ScrollMax.x > 0) drawn.scrolled_sideways.emplace_back(window->Name);
    if (scrolls_sideways(*window)) continue;
    const float room = window->InnerRect.GetWidth() - 2 * window->WindowPadding.x;
    if (window->ContentSize.x > room + 1)
      drawn.clipped.push_back(
          fmt::format("{}: {} in {}", window->Name, window->ContentSize.x, room));
  }
  return drawn;
}

}  // namespace hybridscope::test
