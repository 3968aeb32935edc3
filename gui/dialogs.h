// Everything drawn over the panels: the palette, the dialogs for an argument, a session and unsaved
// edits, the hotkey sheet, the banner.
#pragma once

#include <array>
#include <string_view>

#include "gui/panel.h"
#include "gui/table_view.h"

namespace hybridscope {

class Dialogs {
 public:
  void draw(PanelContext& context);

 private:
  void begin_with(std::string_view text);
  void draw_palette(PanelContext& context);
  void draw_argument(PanelContext& context);
  void draw_keys(PanelContext& context);
  void draw_sessions(PanelContext& context);
  void draw_unsaved(PanelContext& context);

  Dialog shown_ = Dialog::none;  // in the frame before
  std::array<char, 512> text_{};
  int picked_ = 0;  // line of the palette
  TableView sessions_;
};

// One line across the window. Requires: there is a banner.
void draw_banner(PanelContext& context);

}  // namespace hybridscope
