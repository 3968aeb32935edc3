// Draws the whole window: menus, the run bar, panels in their layout, the line of notices, and the
// dialogs over them.
#pragma once

#include <map>
#include <string>

#include "gui/dialogs.h"
#include "gui/model/layout_tree.h"
#include "gui/model/palette_model.h"
#include "gui/panel.h"
#include "gui/panels/panels.h"
#include "gui/run_bar.h"
#include "gui/tab_drag.h"

namespace hybridscope {

// Where the panels are.
struct LayoutPlace {
  LayoutRect area;
  LayoutMetrics metrics;
};

class Shell {
 public:
  // Draws one frame, between ImGui::NewFrame() and ImGui::Render(). Emitted commands are left in
  // context.commands.
  void draw(PanelContext& context);

 private:
  void handle_keys(PanelContext& context);
  void draw_menus(PanelContext& context);
  void draw_plan_alone(PanelContext& context, float height);
  void draw_layout(PanelContext& context, float height);
  void draw_leaves(PanelContext& context, const LayoutAreas& areas);
  static void draw_splitter(PanelContext& context, const SplitterArea& splitter,
                            const LayoutPlace& place);
  void draw_leaf(PanelContext& context, const LayoutLeaf& leaf);
  void draw_body(PanelContext& context, const std::string& id);
  void draw_panel(PanelContext& context, const std::string& id);
  void draw_both_sides(PanelContext& context, const PanelInfo& info);
  void draw_notice(PanelContext& context);
  void draw_dialogs(PanelContext& context);

  FaultGuard menus_guard_;
  FaultGuard content_guard_;  // run bar, layout, start screen
  FaultGuard dialogs_guard_;
  KeyMap keys_;
  RunBar run_bar_;
  Dialogs dialogs_;
  TabDrag tab_drag_;
  // The panels shown so far, by id; likewise for the other run of a comparison.
  std::map<std::string, GuardedPanel> panels_;
  std::map<std::string, GuardedPanel> other_panels_;
};

}  // namespace hybridscope
