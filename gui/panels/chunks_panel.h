// How the scan kernels cut the prefill tokens of the step.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_chunks_panel();

}  // namespace hybridscope
