#include "sessions/report/report_page.h"

#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "sessions/report/report_files.h"

namespace hybridscope {
namespace {

void replace_mark(std::string& page, std::string_view mark, std::string_view text) {
  const std::size_t place = page.find(mark);
  HS_EXPECT(place != std::string::npos);
  page.replace(place, mark.size(), text);
}

std::string all_scripts() {
  std::string scripts;
  for (const std::string_view script :
       {report_files::report_data_js, report_files::report_state_js, report_files::report_parts_js,
        report_files::report_tables_js, report_files::report_step_js,
        report_files::report_timeline_js, report_files::report_js})
    scripts += script;
  return scripts;
}

}  // namespace

std::string script_safe_json(const nlohmann::json& value) {
  constexpr bool kAscii = true;
  const std::string text = value.dump(-1, ' ', kAscii, nlohmann::json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      safe += "\\u003c";
    else if (c == '>')
      safe += "\\u003e";
    else if (c == '&')
      safe += "\\u0026";
    else
      safe += c;
  }
  return safe;
}

std::string fill_report_page(const std::string& data) {
  std::string page(report_files::report_html);
  // The data last: what it holds is never taken for a mark.
  replace_mark(page, "/*style*/", report_files::report_css);
  replace_mark(page, "/*script*/", all_scripts());
  replace_mark(page, "\"data\"", data);
  return page;
}

}  // namespace hybridscope
