// What the pages for a browser share: a style sheet and a script, built in by
// cmake/EmbedText.cmake.
#pragma once

#include <string>
#include <string_view>

namespace hybridscope {

// The light and the dark palette (sessions/palette), page.css, then the page's own rules.
std::string page_style(std::string_view own);

// page.js, which a page's own scripts come after.
std::string_view page_script();

}  // namespace hybridscope
