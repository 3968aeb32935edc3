#include "sessions/text/text_page.h"

#include <algorithm>

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

}  // namespace hybridscope
