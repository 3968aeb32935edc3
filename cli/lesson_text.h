// The texts of a lesson as lines of a terminal.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/environment.h"
#include "core/base/result.h"
#include "sessions/lessons/lesson.h"
#include "sessions/lessons/lesson_run.h"

namespace hybridscope {

// How far lessons were taken in a terminal, kept from one run to the next.

// [questions of the lesson], in their order.
enum class AnswerState : char { open = '.', right = 'r', wrong = 'w' };

struct LessonPlace {
  std::size_t question = 0;  // the next one, over all parts; 0: at the beginning
  std::vector<AnswerState> answers = {};
};

// $XDG_STATE_HOME/hybridscope/lessons.json, else below $HOME/.local/state; empty: there is neither.
std::string lesson_progress_path(const EnvironmentLookup& lookup);

class LessonProgress {
 public:
  // `path`: empty, nothing is kept. A file that cannot be read counts as empty.
  explicit LessonProgress(std::string path);

  bool is_kept() const { return !path_.empty(); }
  // `lesson`: a shipped one's name, or the absolute path of another's file. Its beginning where
  // nothing fits `num_questions`.
  LessonPlace of(const std::string& lesson, std::size_t num_questions) const;
  // Keeps the place, or forgets the lesson when it stands at its beginning or end. Error: the file
  // cannot be written.
  Status keep(const std::string& lesson, const LessonPlace& place);

 private:
  std::string path_;
  std::map<std::string, LessonPlace> places_;  // by lesson
};

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
