// The colours of the window as custom properties of a style sheet.
#pragma once

#include <string>
#include <string_view>

namespace hybridscope {

// The light theme; the dark one where the reader prefers it, or has chosen it (data-theme on the
// root element). With it a class for each role of a cell ("role-null-block") and each mark.
std::string theme_css();
// "null-block": the class of the role `null block`, without its prefix.
std::string css_word(std::string_view name);

}  // namespace hybridscope
