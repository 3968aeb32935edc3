// The texts of a lesson as lines of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/lessons/lesson.h"
#include "sessions/lessons/lesson_run.h"

namespace hybridscope {

// Foreign text without control characters, in lines of at most 100 columns, newline at the end.
std::string wrapped_lines(std::string_view text);

// Title, and what it teaches.
std::string format_lesson_heading(const Lesson& lesson);
// "Part 2 of 3: step 2", the settings it changes, its paragraphs.
std::string format_lesson_part(const Lesson& lesson, std::size_t part);
// "Question 4: ..." with its choices.
std::string format_lesson_question(const LessonQuestion& question, std::size_t number);

// What is said to an answer: each line of it as wrapped_lines.
std::string format_lesson_reply(std::string_view words);

// All of it, without answers.
std::string format_lesson(const Lesson& lesson);
// With them, and the expressions that ask the engine for them. Error: a part cannot be played.
Result<std::string> format_lesson_with_answers(LessonRun& run);

}  // namespace hybridscope
