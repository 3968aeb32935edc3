#include "sessions/report/page_style.h"

#include "sessions/palette/palette.h"
#include "sessions/report/report_files.h"

namespace hybridscope {

std::string page_style(std::string_view own) {
  return page_palette_css().append(report_files::page_css).append(own);
}

}  // namespace hybridscope
