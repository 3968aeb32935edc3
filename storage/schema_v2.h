// SQL of the upgrades to versions 2 and 3 of a session file.
#pragma once

#include <string_view>

namespace hybridscope {

// Version 3: how a session's findings and digests were made.

std::string_view schema_v3_sessions();

std::string_view schema_v2_keyframes();

}  // namespace hybridscope
