#include "sessions/lessons/lesson_answer.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace hybridscope {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Lower case, with underscores for hyphens and blanks.
std::string plain(std::string_view text) {
  std::string word;
  for (const char c : text) word += c == '-' || c == ' ' ? '_' : lower(c);
  return word;
}

std::optional<std::string> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return std::to_string(value);
}

std::optional<std::string> flag(std::string_view text) {
  const std::string word = plain(text);
  for (const std::string_view yes : std::array<std::string_view, 3>{"yes", "true", "y"})
    if (word == yes) return "yes";
  for (const std::string_view no : std::array<std::string_view, 3>{"no", "false", "n"})
    if (word == no) return "no";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> canonical_answer(const BreakField& field, std::string_view text) {
  text = trimmed(text);
  switch (field.type) {
    case BreakType::number:
      return number(text);
    case BreakType::flag:
      return flag(text);
    case BreakType::word:
      for (const std::string_view word : field.words)
        if (plain(word) == plain(text)) return std::string(word);
      return std::nullopt;
    case BreakType::request:
      if (text.empty()) return std::nullopt;
      return std::string(text);
  }
  return std::nullopt;
}

std::string answer_kind(const BreakField& field) {
  switch (field.type) {
    case BreakType::number:
      return "a whole number";
    case BreakType::flag:
      return "yes or no";
    case BreakType::request:
      return "the name of a request";
    case BreakType::word:
      break;
  }
  std::string words = "one of ";
  for (std::size_t i = 0; i < field.words.size(); ++i)
    words += (i == 0 ? "" : ", ") + std::string(field.words[i]);
  return words;
}

}  // namespace hybridscope
