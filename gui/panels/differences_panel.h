// The list of steps in which two runs differ, and the fields of the one that is shown.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_differences_panel();

}  // namespace hybridscope
