// A panel to the clipboard, as a picture to a file: what the commands about it do.
#pragma once

#include <string>

#include "core/base/result.h"
#include "gui/model/content_render.h"

namespace hybridscope {

class Workbench;

// Leaves what the panel in focus shows for the clipboard and says how much that is. Requires: a
// step is shown. Error: no panel is shown.
Status copy_panel_in_focus(Workbench& workbench, ContentFormat format);
// "FORMAT [PANEL]": of any panel, shown or not.
Status copy_panel(Workbench& workbench, const std::string& argument);

// "FILE.png [PANEL]": shows the panel and asks for a picture of it.
Status order_panel_picture(Workbench& workbench, const std::string& argument);
// "block_tables-step-3.png", of the panel in focus.
std::string suggested_picture(const Workbench& workbench);

}  // namespace hybridscope
