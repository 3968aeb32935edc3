#include "sessions/lessons/lesson.h"

#include <fmt/core.h>

#include <array>

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

}  // namespace hybridscope
