// One block decoded, and the answer to "why is this here?": every write on the way back, a jump
// each.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_state_inspector_panel();

}  // namespace hybridscope
