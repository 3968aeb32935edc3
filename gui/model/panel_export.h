// Exports a panel: to the clipboard, or as a picture to a file.
#pragma once

#include <string>

#include "core/base/result.h"
#include "gui/model/content_render.h"

namespace hybridscope {

class Workbench;

// Puts the content of the panel in focus on the clipboard and reports its size. Requires: a step is
// shown. Error: no panel is shown.
Status copy_panel_in_focus(Workbench& workbench, ContentFormat format);
// "FORMAT [PANEL]": of any panel, shown or not.
Status copy_panel(Workbench& workbench, const std::string& argument);

// "FILE.png [PANEL]": shows the panel and asks for a picture of it.
Status order_panel_picture(Workbench& workbench, const std::string& argument);
// "block_tables-step-3.png", for the panel in focus.
std::string suggested_picture(const Workbench& workbench);

}  // namespace hybridscope
