// Plain text for a terminal or a panel: lines of at most so many columns, wrapped at spaces,
// without trailing spaces. And text that becomes a part of an HTML page.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hybridscope {

inline constexpr std::size_t kPageColumns = 100;

// One column of a table: numbers are aligned right, words left.
struct TableColumn {
  std::string_view title;
  bool numeric = false;
};

class TextPage {
 public:
  explicit TextPage(std::size_t columns = kPageColumns) : columns_(columns) {}
  // A line without indent; wrapped lines are indented by two columns.
  void title(std::string_view text);
  // A blank line, then the title and the source of the section's rule.
  void heading(std::string_view title, std::string_view source = {});
  // "  words"; wrapped lines are indented by two more columns.
  void line(std::string_view words);
  // "  label   words", wrapped under the words. The label is padded to `label_width`.
  void item(std::string_view label, std::size_t label_width, std::string_view words);
  // Each row is indented by two spaces, columns are two spaces apart. If the page is too narrow,
  // the cells of the widest columns of words go on in further lines. If that does not help, each
  // row is a sentence: "  request A; how running; c 13".
  void table(const std::vector<TableColumn>& columns,
             const std::vector<std::vector<std::string>>& rows);

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  void paragraph(std::string line, std::size_t hanging, std::string_view words);
  void add_line(std::string_view line);
  void add_sentences(const std::vector<TableColumn>& columns,
                     const std::vector<std::vector<std::string>>& rows);

  std::size_t columns_;
  std::string text_;
};

// Width on a terminal: the number of UTF-8 code points.
std::size_t text_width(std::string_view text);
// Exactly `width` code points: clipped, or padded with spaces.
std::string pad_text(std::string_view text, std::size_t width);
// At most `width` code points; clipped text ends in "..".
std::string clip_text(std::string_view text, std::size_t width);

// Columns of text as wide as their widest cell.

class TextTable {
 public:
  // A heading that starts with '<' names a column of words, aligned to the left; others are aligned
  // to the right, as numbers are.
  explicit TextTable(std::vector<std::string> headings);

  // One cell per heading.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // Heading and rows, newline at the end of each, no blanks before it.
  std::string format() const;

 private:
  std::vector<std::string> headings_;
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;
};

// How many columns a terminal gives the text: one per UTF-8 character, two per CJK character or
// emoji, none per combining mark.
std::size_t display_width(const std::string& text);

// Text from outside on one line of a terminal: control characters (is_control) and bytes that are
// not UTF-8 are written as \xNN, newlines as \n; cut after `max_width` columns with "...".
std::string printable(const std::string& text, std::size_t max_width = 200);

// Each line of the text behind two spaces.
std::string indented(std::string_view lines);

// Text and data in HTML pages: escaped, so that no name can end the element it stands in.

// The text for the content of an element or an attribute in double quotes; control characters as
// escape_controls() shows them.
std::string html_escaped(std::string_view text);

// JSON that is safe inside a <script> element: ASCII, without < > &. Bytes that are not UTF-8
// become U+FFFD.
std::string script_safe_json(const nlohmann::json& value);
std::string script_safe_json(const nlohmann::ordered_json& value);

// Puts `text` in place of `mark`, a word of the page's template. Requires: the page contains it;
// the first one counts.
void fill_mark(std::string& page, std::string_view mark, std::string_view text);

}  // namespace hybridscope
