#include "sessions/report/diff_page.h"

#include "sessions/page/page_parts.h"
#include "sessions/report/report_files.h"
#include "sessions/text/html_text.h"

namespace hybridscope {

std::string fill_diff_page(const std::string& data) {
  std::string page(report_files::diff_html);
  // The data is filled in last, so marks inside it are not replaced.
  fill_mark(page, "/*style*/", page_style(report_files::diff_css));
  fill_page_script(page, {report_files::diff_script, report_files::diff_script_sha256});
  fill_mark(page, "\"data\"", data);
  return page;
}

}  // namespace hybridscope
