// What became of the drafts of a step, and where the state behind each token lives.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_speculative_panel();

}  // namespace hybridscope
