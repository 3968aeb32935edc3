#include "sessions/text/shown_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace hybridscope {
namespace {

std::uint32_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Most of all text: shown as it is, in any place of a line.
bool is_plain(char byte) { return (byte >= 0x20 && byte < 0x7F) || byte == '\n' || byte == '\t'; }

}  // namespace

std::vector<std::string> split_words(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

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

// C0, DEL, C1, marks of direction, and separators of lines.
bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E ||
         code == 0x200F || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

std::string take_shown(std::string_view& text) {
  const Character character = first_character(text);
  const std::size_t length = character.length == 0 ? 1 : character.length;
  const std::string_view bytes = text.substr(0, length);
  text.remove_prefix(length);
  if (character.length == 0 || character.code < 0x20)
    return fmt::format("\\x{:02X}", byte_at(bytes, 0));
  if (is_control(character.code)) return fmt::format("\\u{:04X}", character.code);
  return std::string(bytes);
}

std::string one_line(std::string_view text, std::size_t max_bytes) {
  std::string line;
  while (!text.empty()) {
    const std::string shown = take_shown(text);
    if (line.size() + shown.size() > max_bytes) return line + "...";
    line += shown;
  }
  return line;
}

std::string quoted_text(std::string_view text) { return '"' + one_line(text, 60) + '"'; }

std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string joined_lines(std::string_view text) {
  std::string joined;
  for (std::string_view line : split_text(text, '\n')) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.find_first_not_of("^~ ") == std::string_view::npos) continue;
    joined += (joined.empty() ? "" : "; ") + std::string(line);
  }
  return joined;
}

std::string escape_controls(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto plain = std::ranges::find_if_not(text, is_plain) - text.begin();
    shown += text.substr(0, static_cast<std::size_t>(plain));
    text.remove_prefix(static_cast<std::size_t>(plain));
    if (!text.empty()) shown += take_shown(text);
  }
  return shown;
}

std::size_t unfinished_bytes(std::string_view text) {
  for (std::size_t count = 1; count <= std::min<std::size_t>(3, text.size()); ++count) {
    const std::uint32_t byte = byte_at(text, text.size() - count);
    if ((byte & 0xC0U) == 0x80U) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
    return length > count ? count : 0;
  }
  return 0;
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

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

namespace {

// Changes ASCII letters only.
std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest_key_hint(std::string_view key,
                             const std::vector<std::string_view>& known_keys) {
  const std::string typed = lower_case(key);
  std::string_view nearest;
  std::size_t distance = std::max<std::size_t>(2, key.size() / 3) + 1;
  for (const std::string_view known : known_keys) {
    if (key.size() > 2 * known.size() + 2) continue;
    const std::string there = lower_case(known);
    const bool prefix = !key.empty() && (there.starts_with(typed) || typed.starts_with(there));
    const std::size_t d = there == typed ? 0 : prefix ? 1 : edit_distance(typed, there);
    if (d < distance && d < known.size()) {
      distance = d;
      nearest = known;
    }
  }
  return nearest.empty() ? std::string() : fmt::format(", did you mean \"{}\"?", nearest);
}

}  // namespace hybridscope
