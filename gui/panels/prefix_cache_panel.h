// What the prefix cache had for the requests that were looked up in a step, and why not more.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_prefix_cache_panel();

}  // namespace hybridscope
