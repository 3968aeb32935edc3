#include "sessions/report/page_style.h"

#include "sessions/palette/palette.h"
#include "sessions/report/report_files.h"
#include "sessions/text/html_text.h"

namespace hybridscope {

std::string page_style(std::string_view own) {
  std::string style(report_files::page_css);
  fill_mark(style, "/*light palette*/", palette_css(PaletteKind::light));
  fill_mark(style, "/*dark palette*/", palette_css(PaletteKind::dark));
  return style.append(own);
}

}  // namespace hybridscope
