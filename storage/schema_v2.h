// Version 2 of the tables: keyframes.
#pragma once

#include <string_view>

namespace hybridscope {

std::string_view schema_v2_keyframes();

}  // namespace hybridscope
