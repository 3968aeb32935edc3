// The lesson reader. Errors are one line about the lesson; what it accepts has parts, answers that
// the choices hold, and mistakes that are no right answers.
#include <algorithm>

#include "sessions/lessons/lesson_reader.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

namespace hybridscope::test::lesson_target {
namespace {

void read(std::string_view text) {
  const auto lesson = parse_lesson({.text = text, .file = "l.json"}, [](const std::string& path) {
    return Result<std::string>(Error{ErrorKind::io, path + ": cannot be opened"});
  });
  note_read(text, lesson.ok());
  if (!lesson.ok()) return expect_one_line(lesson.error().message, "l.json:");
  expect(!lesson.value().parts.empty(), "a lesson has a part");
  for (const LessonPart& part : lesson.value().parts) {
    expect(!part.text.empty(), "a part has a text");
    for (const LessonQuestion& question : part.questions) {
      const auto& choices = question.choices;
      expect(choices.empty() ||
                 std::find(choices.begin(), choices.end(), question.answer) != choices.end(),
             "the answer is one of the choices", question.ask);
      for (const LessonMistake& mistake : question.mistakes)
        expect(mistake.answer != question.answer, "a mistake is no right answer", question.ask);
    }
  }
}

}  // namespace
}  // namespace hybridscope::test::lesson_target

namespace hybridscope::test {

void fuzz_lesson(std::string_view text) { lesson_target::read(text); }

}  // namespace hybridscope::test
