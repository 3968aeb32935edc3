// The rows of a step's batch as a table, and their tokens along an axis.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_batch_rows_panel();

}  // namespace hybridscope
