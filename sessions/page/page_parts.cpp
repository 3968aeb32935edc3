#include "sessions/page/page_parts.h"

#include "sessions/page/page_files.h"
#include "sessions/palette/palette.h"

namespace hybridscope {

std::string page_style(std::string_view own) {
  return page_palette_css().append(page_files::page_css).append(own);
}

std::string_view page_script() { return page_files::page_js; }

}  // namespace hybridscope
