// Drags a panel by its tab to another place of the layout, with a picture of where it will land.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/model/layout_areas.h"
#include "gui/panel.h"

namespace hybridscope {

// What a tab has beside its title: the sign of the panel in focus, and a menu for a right click.

// A line over the tab that was drawn last: the one in front of its leaf, or in the one leaf that
// commands mean.
enum class TabCue : std::uint8_t { front, focused };
void draw_tab_cue(const Look& look, TabCue cue);
void draw_tab_menu(PanelContext& context, const PanelInfo& panel);

class TabDrag {
 public:
  // Call right after the tab of `panel` was drawn.
  void watch(PanelContext& context, const std::string& panel);
  // Call when all leaves were drawn: over them comes the picture, and the command when the mouse
  // lets go.
  void draw(PanelContext& context, const LayoutAreas& areas);

  bool is_on() const { return !panel_.empty(); }
  // Until the mouse lets go, nothing is dragged any more.
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
