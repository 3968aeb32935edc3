// Changes the step behind the one that is shown: a fork of the run, which undo takes back.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_next_step_panel();

}  // namespace hybridscope
