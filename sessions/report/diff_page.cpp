#include "sessions/report/diff_page.h"

#include "sessions/page/page_parts.h"
#include "sessions/report/report_files.h"

namespace hybridscope {

std::string fill_diff_page(const std::string& data) {
  return make_page({.title = "hybridscope diff",
                    .body = report_files::diff_html,
                    .style = report_files::diff_css,
                    .script = {report_files::diff_script, report_files::diff_script_sha256},
                    .data_id = "diff-data",
                    .data = data});
}

}  // namespace hybridscope
