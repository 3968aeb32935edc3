// The ids that commands and scripts are written with, as text.
#pragma once

#include <span>
#include <string>

#include "gui/model/view_state.h"

namespace hybridscope {

// A line for each command (id, argument, menu and title, keys; an asterisk: it changes the run),
// and for each panel (id, title). Ends with a newline.
std::string command_list(std::span<const PanelInfo> panels);

}  // namespace hybridscope
