#include "cli/shown_text.h"

#include <fmt/core.h>

namespace hybridscope {
namespace {

std::uint32_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

}  // namespace

Character first_character(std::string_view text) {
  const std::uint32_t first = byte_at(text, 0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  std::uint32_t code = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, i) & 0xC0U) != 0x80U) return {};
    code = code << 6 | (byte_at(text, i) & 0x3FU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return overlong || surrogate || code > 0x10FFFF ? Character{} : Character{code, length};
}

bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string one_line(std::string_view text, std::size_t max_bytes) {
  std::string line;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t length = character.length == 0 ? 1 : character.length;
    if (line.size() + length > max_bytes) return line + "...";
    if (character.length == 0 || is_control(character.code))
      for (std::size_t i = 0; i < length; ++i) line += fmt::format("\\x{:02X}", byte_at(text, i));
    else
      line += text.substr(0, length);
    text.remove_prefix(length);
  }
  return line;
}

std::string valid_text(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::uint32_t code = character.code;
    const bool allowed = character.length > 0 && code != 0xFFFE && code != 0xFFFF &&
                         (code >= 0x20 || code == '\n' || code == '\t' || code == '\r');
    const std::size_t length = character.length == 0 ? 1 : character.length;
    valid += allowed ? text.substr(0, length) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(length);
  }
  return valid;
}

}  // namespace hybridscope
