// Columns of text as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

namespace hybridscope {

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

}  // namespace hybridscope
