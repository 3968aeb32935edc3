// Plain text for a terminal: lines of at most kPageColumns columns, wrapped at spaces, no trailing
// spaces.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hybridscope {

inline constexpr std::size_t kPageColumns = 100;

// One column of a table: numbers stand right, words left.
struct TableColumn {
  std::string_view title;
  bool numeric = false;
};

class TextPage {
 public:
  // A line without indent; long ones are wrapped under their third column.
  void title(std::string_view text);
  // A blank line, then the title with where the section's rule comes from.
  void heading(std::string_view title, std::string_view source = {});
  // "  words", wrapped with the same indent plus two.
  void line(std::string_view words);
  // "  label   words", wrapped under the words; the label is padded to `label_width`.
  void item(std::string_view label, std::size_t label_width, std::string_view words);
  // Two spaces before each row, two between columns; the widest column of words is
  // clipped where the page is too narrow.
  void table(const std::vector<TableColumn>& columns,
             const std::vector<std::vector<std::string>>& rows);

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  void paragraph(std::string line, std::size_t hanging, std::string_view words);
  void add_line(std::string_view line);

  std::string text_;
};

// Width on a terminal: code points of UTF-8.
std::size_t text_width(std::string_view text);
// Exactly `width` code points: clipped, or filled with spaces behind.
std::string pad_text(std::string_view text, std::size_t width);
// At most `width` code points, the last two being ".." if something was cut.
std::string clip_text(std::string_view text, std::size_t width);

}  // namespace hybridscope
