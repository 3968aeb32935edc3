// The text of a log in which lines are looked for, however it was pasted: with prefixes of
// containers, colours, and lines that are wrapped at any place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hybridscope {

struct LogMatch {
  std::size_t begin = 0;  // in the text without blanks
  std::size_t end = 0;
  std::vector<std::string> values;  // of the marks, in order
};

class LogText {
 public:
  explicit LogText(std::string_view raw);

  // All places with the words of `pattern`, in order; blanks and line ends do not matter. Marks in
  // the pattern, behind its first two characters: "#" is a number, given without the commas inside;
  // "*" is a word of letters, digits and . + - _ / without a blank.
  std::vector<LogMatch> find(std::string_view pattern) const;

  // The text behind a match up to the next record of the log, as one line.
  std::string rest_of_record(const LogMatch& match) const;

  bool has(std::string_view words) const { return !find(words).empty(); }

 private:
  bool match(std::size_t at, std::string_view pattern, LogMatch& match) const;
  bool match_number(std::size_t at, std::string_view rest, LogMatch& match) const;
  std::size_t skip_line_ends(std::size_t at) const;

  std::string plain_;                  // without colours
  std::string dense_;                  // without blanks, with line ends
  std::vector<std::uint32_t> places_;  // of dense_'s characters in plain_
};

}  // namespace hybridscope
