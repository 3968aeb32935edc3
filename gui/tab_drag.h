// Drags a panel by its tab to another place of the layout, with a picture of where it will land.
#pragma once

#include <string>
#include <vector>

#include "gui/model/layout_areas.h"
#include "gui/panel.h"

namespace hybridscope {

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
