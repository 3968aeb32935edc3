#include "gui/panels/panels.h"

#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "core/base/result.h"
#include "gui/picture_panel.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// The panels that draw more than tables.
struct PanelRow {
  std::string_view id;
  std::unique_ptr<Panel> (*make)();
};

constexpr PanelRow kPanels[] = {
    {"block_tables", make_block_tables_panel},
    {"physical_blocks", make_physical_blocks_panel},
    {"batch_rows", make_batch_rows_panel},
    {"lesson", make_lesson_panel},
    {"plan", make_plan_panel},
    {"state_copies", make_state_copies_panel},
    {"speculative", make_speculative_panel},
    {"explanation", make_explanation_panel},
    {"metadata", make_metadata_panel},
    {"timeline", make_timeline_panel},
    {"text", make_text_panel},
    {"heat_map", make_heat_map_panel},
};

}  // namespace

std::unique_ptr<Panel> make_panel(const PanelInfo& info) {
  const PanelRow* row = std::ranges::find(kPanels, info.id, &PanelRow::id);
  if (row != std::end(kPanels)) return row->make();
  HS_EXPECT(info.make != nullptr);
  return std::make_unique<PicturePanel>(info.make);
}

namespace {

// Closes what was left open in the window and in windows inside it. ImGui would also close the tab
// bar, which does not belong to the guarded part: panels have none.
void unwind_to(const ImGuiWindow* window) {
  ImGuiTabBar* const tabs = std::exchange(ImGui::GetCurrentContext()->CurrentTabBar, nullptr);
  while (ImGui::GetCurrentWindowRead() != window) {
    ImGui::ErrorCheckEndWindowRecover(nullptr);
    if ((ImGui::GetCurrentWindowRead()->Flags & ImGuiWindowFlags_ChildWindow) != 0)
      ImGui::EndChild();
    else
      ImGui::End();
  }
  ImGui::ErrorCheckEndWindowRecover(nullptr);
  ImGui::GetCurrentContext()->CurrentTabBar = tabs;
}

}  // namespace

bool FaultGuard::draw(Workbench& workbench, const std::function<void()>& draw) {
  if (!fault_.empty() && fault_step_revision_ == workbench.step_revision()) return false;
  fault_.clear();
  const ImGuiWindow* const window =
      ImGui::GetCurrentWindowRead();  // does not make the window visible
  try {
    draw();
    return true;
  } catch (const std::exception& fault) {  // a ContractViolation, or what nobody thought of
    unwind_to(window);
    fault_ = fault.what();
    fault_step_revision_ = workbench.step_revision();
    workbench.report_fault(fault_);
    return false;
  }
}

void GuardedPanel::draw(PanelContext& context, std::string_view id) {
  const PanelInfo* info = context.workbench.view().find_panel(id);
  if (!context.workbench.has_step() && info != nullptr && info->of == PanelOf::run)
    return wrapped_dim_text(context.look, context.workbench.why_no_step());
  const bool drawn = guard_.draw(context.workbench, [&] {
    HS_EXPECT(info != nullptr);
    if (panel_ == nullptr) panel_ = make_panel(*info);
    panel_->draw(context);
  });
  if (drawn) return;
  panel_.reset();
  wrapped_text("This panel cannot be drawn here: " + guard_.fault());
}

}  // namespace hybridscope
