// Which states a step copies, which not and why; one request's copies drawn.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_state_copies_panel();

}  // namespace hybridscope
