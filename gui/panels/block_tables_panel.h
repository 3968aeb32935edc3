// The block tables of a step as grids, one a KV-cache group.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_block_tables_panel();

}  // namespace hybridscope
