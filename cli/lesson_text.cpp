#include "cli/lesson_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/step_table.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

constexpr std::size_t kTextColumns = 100;
constexpr std::size_t kMaxText = 4000;

}  // namespace

std::string wrapped_lines(std::string_view text) {
  return wrap_words(one_line(text, kMaxText), kTextColumns) + "\n";
}

std::string format_lesson_heading(const Lesson& lesson) {
  return wrapped_lines(fmt::format("{}: {}", lesson.name, lesson.title)) +
         wrapped_lines(lesson.teaches);
}

std::string format_lesson_part(const Lesson& lesson, std::size_t part) {
  const LessonPart& shown = lesson.parts[part];
  std::string text = fmt::format("Part {} of {}: step {}{}\n", part + 1, lesson.parts.size(),
                                 shown.step, shown.predict ? ", questions first" : "");
  if (!(shown.settings == EngineSettings{}))
    text += wrapped_lines("with settings " + settings_to_json(shown.settings).dump());
  for (const std::string& paragraph : shown.text) text += "\n" + wrapped_lines(paragraph);
  return text;
}

std::string format_lesson_question(const LessonQuestion& question, std::size_t number) {
  std::string text = wrapped_lines(fmt::format("Question {}: {}", number, question.ask));
  if (!question.choices.empty())
    text += wrapped_lines(fmt::format("One of: {}", fmt::join(question.choices, ", ")));
  return text;
}

std::string format_lesson_reply(std::string_view words) {
  std::string text;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = words.find('\n');
    text += wrapped_lines(words.substr(0, end));
    words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
  }
  return text;
}

namespace {

// The stored answer, the source of the engine's answer, and the reason and what is said to foreseen
// mistakes if the engine has an answer.
std::string format_answer(const LessonRun& run, std::size_t index) {
  const LessonQuestion& question = run.part().questions[index];
  const std::string where = question.where == "true" ? "" : " where " + question.where;
  std::string text = wrapped_lines(
      fmt::format("Answer: {}, that is {}{}", question.answer, question.value, where));
  if (const auto problem = run.disagreement(index)) return text + wrapped_lines(*problem);
  const EngineAnswer& engine = run.answer_of(index).value();
  text += wrapped_lines(engine.because);
  for (const LessonMistake& mistake : engine.mistakes)
    text += wrapped_lines(fmt::format("If {} is answered: {}", mistake.answer, mistake.words));
  return text;
}

}  // namespace

std::string format_lesson(const Lesson& lesson) {
  std::string text = format_lesson_heading(lesson);
  std::size_t number = 0;
  for (std::size_t p = 0; p < lesson.parts.size(); ++p) {
    text += "\n" + format_lesson_part(lesson, p);
    for (const LessonQuestion& question : lesson.parts[p].questions)
      text += "\n" + format_lesson_question(question, ++number);
  }
  return text;
}

Result<std::string> format_lesson_with_answers(LessonRun& run) {
  const Lesson& lesson = run.lesson();
  std::string text = format_lesson_heading(lesson);
  std::size_t number = 0;
  for (std::size_t p = 0; p < lesson.parts.size(); ++p) {
    if (Status moved = run.go_to_part(p); !moved.ok()) return moved.error();
    text += "\n" + format_lesson_part(lesson, p);
    for (std::size_t q = 0; q < lesson.parts[p].questions.size(); ++q)
      text += "\n" + format_lesson_question(lesson.parts[p].questions[q], ++number) +
              format_answer(run, q);
  }
  return text;
}

}  // namespace hybridscope
