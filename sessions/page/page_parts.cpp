#include "sessions/page/page_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "core/base/check.h"
#include "sessions/page/page_files.h"
#include "sessions/palette/palette.h"
#include "sessions/text/html_text.h"

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

}  // namespace

std::string page_style(std::string_view own) {
  return page_palette_css().append(page_files::page_css).append(own);
}

void fill_page_script(std::string& page, const PageScript& script) {
  fill_mark(page, "/*script-source*/",
            fmt::format("'sha256-{}'", base64_of_hexadecimal(script.sha256)));
  fill_mark(page, "<script>/*script*/</script>", fmt::format("<script>{}</script>", script.text));
}

}  // namespace hybridscope
