// The panel "Known bugs".
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_known_bugs_panel();

}  // namespace hybridscope
