// Every array that layers were given in the step, one line an array, one of them as a whole.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_metadata_panel();

}  // namespace hybridscope
