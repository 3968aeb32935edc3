// Broken rules of all steps so far, each a jump to its step.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_findings_panel();

}  // namespace hybridscope
