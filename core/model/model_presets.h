// The models hybridscope knows by name, one row each with the source of its dimensions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"

namespace hybridscope {

// In the order of the table.
std::vector<std::string> model_preset_names();

// Error not_found, listing the known names.
Result<ModelSpec> model_preset(std::string_view name);

}  // namespace hybridscope
