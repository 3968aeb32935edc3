// SQL that makes version 1 of a session file. Released SQL never changes; later versions are
// separate upgrades (schema.h).
#pragma once

#include <string_view>

namespace hybridscope {

std::string_view schema_v1_steps();   // sessions, requests and a step's decisions
std::string_view schema_v1_blocks();  // blocks, copies, writes, findings, bookmarks
std::string_view schema_v1_views();   // views for common questions; names of enums

}  // namespace hybridscope
