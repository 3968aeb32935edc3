// Version 3 of the tables: how a session's findings and digests were made.
#pragma once

#include <string_view>

namespace hybridscope {

std::string_view schema_v3_sessions();

}  // namespace hybridscope
