#include "sessions/lessons/lesson.h"

#include <fmt/format.h>
#include <array>
#include <charconv>

#include "sessions/run/twin.h"

namespace hybridscope {
namespace {

constexpr std::array<std::string_view, 10> kPanels = {
    "requests", "prefix_cache", "block_tables", "batch_rows", "graph_padding",
    "metadata", "state_copies", "speculative",  "timeline",   "findings"};

}  // namespace

std::span<const std::string_view> lesson_panels() { return kPanels; }

std::size_t num_questions(const Lesson& lesson) {
  std::size_t count = 0;
  for (const LessonPart& part : lesson.parts) count += part.questions.size();
  return count;
}

std::string answered_words(std::size_t num_answered, std::size_t num_questions,
                           std::size_t num_right) {
  return fmt::format("{} of {} questions answered, {} right", num_answered, num_questions,
                     num_right);
}

Scenario scenario_of(const Lesson& lesson, const LessonPart& part) {
  Scenario scenario = lesson.scenario;
  scenario.settings = changed_settings(scenario.settings, part.settings);
  return scenario;
}

std::vector<LessonTextPiece> split_placeholders(std::string_view text) {
  std::vector<LessonTextPiece> pieces;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    if (open > 0) pieces.push_back({.text = std::string(text.substr(0, open)), .is_name = false});
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('}', open);
    pieces.push_back(
        {.text = std::string(text.substr(open + 1, close - open - 1)), .is_name = true});
    if (close == std::string_view::npos) break;
    text.remove_prefix(close + 1);
  }
  return pieces;
}

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
    case BreakType::number: return number(text);
    case BreakType::flag: return flag(text);
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
    case BreakType::number: return "a whole number";
    case BreakType::flag: return "yes or no";
    case BreakType::request: return "the name of a request";
    case BreakType::word: break;
  }
  return fmt::format("one of {}", fmt::join(field.words, ", "));
}

}  // namespace hybridscope
