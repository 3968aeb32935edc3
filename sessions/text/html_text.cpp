#include "sessions/text/html_text.h"

#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

template <class Json>
std::string safe_json(const Json& value) {
  constexpr bool kAscii = true;
  const std::string text = value.dump(-1, ' ', kAscii, Json::error_handler_t::replace);
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

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string html;
  for (const char c : escape_controls(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string script_safe_json(const nlohmann::json& value) { return safe_json(value); }
std::string script_safe_json(const nlohmann::ordered_json& value) { return safe_json(value); }

void fill_mark(std::string& page, std::string_view mark, std::string_view text) {
  const std::size_t place = page.find(mark);
  HS_EXPECT(place != std::string::npos);
  page.replace(place, mark.size(), text);
}

}  // namespace hybridscope
