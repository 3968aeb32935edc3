// What panels say where a session's level does not record what they show.
#pragma once

#include <string>
#include <string_view>

#include "gui/model/shown_run.h"

namespace hybridscope {

// "The session keeps no block tables: it was recorded at level counts." Empty: its level is above
// counts.
std::string not_kept(const ShownRun& run, std::string_view what);

// For sessions with block tables but no contents; empty for all others.
std::string contents_not_kept(const ShownRun& run);

}  // namespace hybridscope
