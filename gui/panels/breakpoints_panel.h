// Questions about steps that stop the run, with how often each held.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_breakpoints_panel();

}  // namespace hybridscope
