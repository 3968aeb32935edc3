// Everything about the step in words, as `run --explain` tells it.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_explanation_panel();

}  // namespace hybridscope
