#include "cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/check.h"

namespace hybridscope {
namespace {

constexpr std::size_t kGap = 2;

// Bytes of the UTF-8 character that begins at `at`, 0: none does.
std::size_t character_length(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  return length;
}

}  // namespace

std::size_t display_width(const std::string& text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++width)
    i += std::max<std::size_t>(character_length(text, i), 1);
  return width;
}

std::string printable(const std::string& text, std::size_t max_width) {
  std::string result;
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text, i);
    const auto byte = static_cast<unsigned char>(text[i]);
    // C1 control characters are two bytes long and begin with C2.
    const bool control =
        byte < 0x20 || byte == 0x7F ||
        (length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0);
    std::string piece;
    if (byte == '\n')
      piece = "\\n";
    else if (length == 0 || control)
      piece = fmt::format("\\x{:02X}", byte);
    else
      piece = text.substr(i, length);
    const std::size_t columns = length == 0 || control || byte == '\n' ? piece.size() : 1;
    if (width + columns > max_width) return result + "...";
    result += piece;
    width += columns;
    i += control || length == 0 ? 1 : length;
  }
  return result;
}

TextTable::TextTable(std::vector<std::string> headings) : headings_(std::move(headings)) {
  for (std::string& heading : headings_) {
    left_.push_back(heading.starts_with('<'));
    if (left_.back()) heading.erase(0, 1);
  }
}

void TextTable::add(std::vector<std::string> cells) {
  HS_EXPECT(cells.size() == headings_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::format() const {
  std::vector<std::size_t> widths;
  for (const std::string& heading : headings_) widths.push_back(display_width(heading));
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], display_width(row[c]));
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string blanks(widths[c] - display_width(cells[c]), ' ');
      if (c > 0) line.append(kGap, ' ');
      line += left_[c] ? cells[c] + blanks : blanks + cells[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add_line(headings_);
  for (const auto& row : rows_) add_line(row);
  return text;
}

}  // namespace hybridscope
