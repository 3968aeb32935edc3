#include "sessions/page/page_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "core/base/result.h"
#include "sessions/page/page_files.h"
#include "sessions/palette/palette.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

// The bytes that the hexadecimal digits stand for, in base64 (RFC 4648).
std::string base64_of_hexadecimal(std::string_view digits) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t kDigitsAtOnce = 6;  // three bytes, four letters
  std::string text;
  for (; !digits.empty(); digits.remove_prefix(std::min(digits.size(), kDigitsAtOnce))) {
    std::string piece(digits.substr(0, kDigitsAtOnce));
    const std::size_t num_letters = piece.size() * 4 / kDigitsAtOnce + (piece.size() < 6 ? 1 : 0);
    piece.resize(kDigitsAtOnce, '0');
    std::uint32_t bits = 0;
    const auto [end, code] = std::from_chars(piece.data(), piece.data() + piece.size(), bits, 16);
    HS_EXPECT(code == std::errc{} && end == piece.data() + piece.size());
    for (std::size_t i = 0; i < 4; ++i)
      text += i < num_letters ? kAlphabet[(bits >> (18 - 6 * i)) & 63U] : '=';
  }
  return text;
}

// What the browser may load and run.
std::string policy_of(const PageParts& page) {
  if (!page.style_file.empty())
    return "default-src 'none'; script-src 'self' file:; style-src 'self' file:;\n"
           "               base-uri 'none'; form-action 'none'";
  std::string policy = "default-src 'none'; style-src 'unsafe-inline'";
  if (!page.script.text.empty())
    policy += fmt::format("; script-src 'sha256-{}'", base64_of_hexadecimal(page.script.sha256));
  return policy;
}

// Style and script, or the links to their files.
std::string style_of(const PageParts& page) {
  if (page.style_file.empty())
    return fmt::format("<style>\n{}{}{}\n</style>\n", page_palette_css(), page_files::page_css,
                       page.style);
  return fmt::format("<link rel=\"stylesheet\" href=\"{}\">\n<script src=\"{}\"></script>\n",
                     page.style_file, page.script_file);
}

}  // namespace

std::string make_page(const PageParts& page) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n{}<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\"\n      content=\"{}\">\n"
      "<title>{}</title>\n{}</head>\n<body>\n",
      page.head, policy_of(page), html_escaped(page.title), style_of(page));
  html += page.body;
  if (!page.data_id.empty())
    html += fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", page.data_id,
                        page.data);
  if (!page.script.text.empty()) html += fmt::format("<script>{}</script>\n", page.script.text);
  return html + "</body>\n</html>\n";
}

std::string css_word(std::string_view name) {
  std::string word(name);
  std::ranges::replace(word, ' ', '-');
  std::erase(word, ',');
  return word;
}

}  // namespace hybridscope
