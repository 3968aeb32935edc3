// SQL that makes version 1 of a session file. What was released never changes: later versions are
// steps of their own (schema.h).
#pragma once

#include <string_view>

namespace hybridscope {

std::string_view schema_v1_steps();   // sessions, requests, and what a step decided
std::string_view schema_v1_blocks();  // blocks, copies, writes, findings, bookmarks
std::string_view schema_v1_views();   // the common questions, enums by name

}  // namespace hybridscope
