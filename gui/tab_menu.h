// What a tab has beside its title: the sign of the panel in focus, and a menu for a right click.
#pragma once

#include <cstdint>

#include "gui/panel.h"

namespace hybridscope {

// A line over the tab that was drawn last: the one in front of its leaf, or in the one leaf that
// commands mean.
enum class TabCue : std::uint8_t { front, focused };
void draw_tab_cue(const Look& look, TabCue cue);
void draw_tab_menu(PanelContext& context, const PanelInfo& panel);

}  // namespace hybridscope
