#include "sessions/text/text_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "core/base/result.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

bool starts_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

std::string padded(std::string_view text, std::size_t width, bool right) {
  const std::size_t used = std::min(text_width(text), width);
  const std::string space(width - used, ' ');
  return right ? space + std::string(text) : std::string(text) + space;
}

// Takes from the widest columns of words until the table fits. False: it cannot without columns too
// narrow to be read.
bool shrink_to(std::size_t page, const std::vector<TableColumn>& columns,
               std::vector<std::size_t>& widths) {
  constexpr std::size_t kNarrowest = 8;
  std::size_t total = 2 * widths.size();
  for (const std::size_t width : widths) total += width;
  for (; total > page; --total) {
    std::size_t* widest = nullptr;
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (!columns[c].numeric && (widest == nullptr || widths[c] > *widest)) widest = &widths[c];
    if (widest == nullptr || *widest <= kNarrowest) return false;
    --*widest;
  }
  return true;
}

// The bytes of the first `width` code points.
std::size_t bytes_of(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  for (std::size_t count = 0; end < text.size(); ++end)
    if (starts_code_point(text[end]) && count++ == width) break;
  return end;
}

// The lines of a cell: broken after a space or a mark between words, in the middle of a word only
// where there is none.
std::vector<std::string_view> cell_lines(std::string_view text, std::size_t width) {
  std::vector<std::string_view> lines;
  while (text_width(text) > width) {
    std::size_t end = bytes_of(text, width);
    if (text[end] != ' ') {
      const std::size_t mark = text.substr(0, end).find_last_of(" _/,;:");
      if (mark != std::string_view::npos) end = mark + 1;
    }
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  if (!text.empty() || lines.empty()) lines.push_back(text);
  return lines;
}

// The words up to and including the next clause end ("; " or ": "), without the space after it.
std::string_view next_clause(std::string_view words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if ((words[i] == ';' || words[i] == ':') && words[i + 1] == ' ') return words.substr(0, i + 1);
  return words;
}

std::string_view next_word(std::string_view words) { return words.substr(0, words.find(' ')); }

}  // namespace

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_code_point));
}

std::string clip_text(std::string_view text, std::size_t width) {
  if (text_width(text) <= width) return std::string(text);
  return std::string(text.substr(0, bytes_of(text, width > 2 ? width - 2 : 0))) + "..";
}

std::string pad_text(std::string_view text, std::size_t width) {
  return padded(clip_text(text, width), width, false);
}

void TextPage::add_line(std::string_view line) {
  const std::size_t last = line.find_last_not_of(' ');
  text_ += line.substr(0, last == std::string_view::npos ? 0 : last + 1);
  text_ += '\n';
}

void TextPage::title(std::string_view text) { paragraph("", 2, text); }

void TextPage::heading(std::string_view title, std::string_view source) {
  text_ += '\n';
  std::string line(title);
  if (!source.empty()) line += " (" + std::string(source) + ")";
  paragraph("", 2, line);
}

void TextPage::line(std::string_view words) { paragraph("  ", 4, words); }

void TextPage::item(std::string_view label, std::size_t label_width, std::string_view words) {
  paragraph("  " + pad_text(label, label_width) + "  ", label_width + 4, words);
}

void TextPage::table(const std::vector<TableColumn>& columns,
                     const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::size_t width = text_width(columns[c].title);
    for (const auto& row : rows) width = std::max(width, text_width(row[c]));
    widths.push_back(width);
  }
  if (!shrink_to(columns_, columns, widths)) {
    add_sentences(columns, rows);
    return;
  }
  const auto add = [&](const auto& cell_of) {
    std::vector<std::vector<std::string_view>> cells;
    std::size_t height = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      cells.push_back(cell_lines(cell_of(c), widths[c]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t l = 0; l < height; ++l) {
      std::string line;
      for (std::size_t c = 0; c < columns.size(); ++c)
        line +=
            "  " + padded(l < cells[c].size() ? cells[c][l] : "", widths[c], columns[c].numeric);
      add_line(line);
    }
  };
  add([&](std::size_t c) { return columns[c].title; });
  for (const auto& row : rows) add([&](std::size_t c) { return std::string_view(row[c]); });
}

void TextPage::add_sentences(const std::vector<TableColumn>& columns,
                             const std::vector<std::vector<std::string>>& rows) {
  for (const auto& row : rows) {
    std::string sentence;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (row[c].empty()) continue;
      sentence += sentence.empty() ? "" : "; ";
      sentence += columns[c].title;
      sentence += columns[c].title.empty() ? "" : " ";
      sentence += row[c];
    }
    line(sentence);
  }
}

void TextPage::paragraph(std::string line, std::size_t hanging, std::string_view words) {
  hanging = std::min(hanging, columns_ / 2);
  std::size_t used = text_width(line);
  bool first = true;         // nothing on this line yet
  bool clause_start = true;  // a clause that fits on one line is not broken
  const auto fits = [&](std::string_view part, std::size_t from) {
    return from + (first ? 0 : 1) + text_width(part) <= columns_;
  };
  while (!words.empty()) {
    const std::string_view word = next_word(words);
    const std::string_view part = clause_start ? next_clause(words) : word;
    const bool keep_together = !fits(part, used) && hanging + text_width(part) <= columns_;
    if (!first && (keep_together || !fits(word, used))) {
      add_line(line);
      line.assign(hanging, ' ');
      used = hanging;
      first = true;
    }
    line += first ? "" : " ";
    line += word;
    used += text_width(word) + (first ? 0 : 1);
    clause_start = word.ends_with(';') || word.ends_with(':');
    first = false;
    words.remove_prefix(std::min(word.size() + 1, words.size()));
  }
  add_line(line);
}

namespace {

constexpr std::size_t kGap = 2;

struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// Combining marks, drawn over the character before them: Unicode's Mn and Me of the common scripts,
// joiners and variation selectors.
constexpr Range kCombining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489},  {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},  {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
    {0x20D0, 0x20FF}, {0x302A, 0x302D},  {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
    {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF}};

// Two columns wide (East Asian Width W and F), emoji among them.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},  {0xA960, 0xA97F}, {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

bool is_in(std::span<const Range> ranges, std::uint32_t code) {
  return std::ranges::any_of(
      ranges, [code](const Range& range) { return range.first <= code && code <= range.last; });
}

std::size_t columns_of(std::uint32_t code) {
  if (is_in(kCombining, code)) return 0;
  return is_in(kWide, code) ? 2 : 1;
}

}  // namespace

std::size_t display_width(const std::string& text) {
  std::size_t width = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const Character character = first_character(rest);
    width += character.length == 0 ? 1 : columns_of(character.code);
    rest.remove_prefix(std::max<std::size_t>(character.length, 1));
  }
  return width;
}

std::string printable(const std::string& text, std::size_t max_width) {
  std::string result;
  std::size_t width = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const bool ends_line = rest.front() == '\n';
    std::string piece = take_shown(rest);
    if (ends_line) piece = "\\n";
    const std::size_t columns = display_width(piece);
    if (width + columns > max_width) return result + "...";
    result += piece;
    width += columns;
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

std::string indented(std::string_view lines) {
  std::string text;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    text += fmt::format("  {}\n", lines.substr(at, end - at));
    at = end == std::string_view::npos ? end : end + 1;
  }
  return text;
}

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
      case '&': html += "&amp;"; break;
      case '<': html += "&lt;"; break;
      case '>': html += "&gt;"; break;
      case '"': html += "&quot;"; break;
      default: html += c;
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
