// A table of the requests that the step or its block tables name.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_requests_panel();

}  // namespace hybridscope
