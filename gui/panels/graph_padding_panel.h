// Requested against captured size, which graph ran, and what padding rows hold.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_graph_padding_panel();

}  // namespace hybridscope
