// The pool of physical blocks as a map, and the order in which free ones are given out.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_physical_blocks_panel();

}  // namespace hybridscope
