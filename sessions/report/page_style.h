// The style sheet that all pages of this folder share.
#pragma once

#include <string>
#include <string_view>

namespace hybridscope {

// The light and the dark palette (sessions/palette), page.css, then the page's own rules.
std::string page_style(std::string_view own);

}  // namespace hybridscope
