// One step of a lesson's run as the data of its page.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "gui/model/workbench.h"

namespace hybridscope {

// {step, found: "1 error, 0 warnings", has_error, panels: {block_tables: {...}, ...}}: all panels
// that lessons may show (lesson_panels()), and the step in words. Requires: a step is shown.
nlohmann::ordered_json step_data(Workbench& workbench);

}  // namespace hybridscope
