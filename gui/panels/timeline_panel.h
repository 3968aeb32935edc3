// What requests did over the steps around the one that is shown, a lane a request.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_timeline_panel();

}  // namespace hybridscope
