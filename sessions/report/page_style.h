// The style sheet that all pages of this folder share.
#pragma once

#include <string>
#include <string_view>

namespace hybridscope {

// page.css with the light and the dark palette (sessions/palette), then the page's own rules.
std::string page_style(std::string_view own);

}  // namespace hybridscope
