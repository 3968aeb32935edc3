// Drags a panel by its tab to another place in the layout, with a preview of where it will land.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/model/layout_tree.h"
#include "gui/panel.h"

namespace hybridscope {

// A tab's extras: the mark of the panel in focus, and a menu on right click.

// A line over the last tab: it is in front of its leaf, or it is the focused panel, to which
// commands apply.
enum class TabCue : std::uint8_t { front, focused };
void draw_tab_cue(const Look& look, TabCue cue);
void draw_tab_menu(PanelContext& context, const PanelInfo& panel);

class TabDrag {
 public:
  // Call right after the tab of `panel` was drawn.
  void watch(PanelContext& context, const std::string& panel);
  // Call after all leaves are drawn: draws the preview over them, and emits the command when the
  // mouse button is released.
  void draw(PanelContext& context, const LayoutAreas& areas);

  bool is_on() const { return !panel_.empty(); }
  // Stops dragging until the mouse button is released.
  void cancel();

 private:
  struct DrawnTab {
    std::string panel;
    ItemBox box;
  };
  std::vector<DrawnTab> tabs_;  // of this frame
  std::string panel_;           // empty: none is dragged
  bool cancelled_ = false;
};

}  // namespace hybridscope
