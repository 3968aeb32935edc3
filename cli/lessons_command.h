// What the files of `hybridscope lessons` share: a lesson's texts and how far it was taken
// (lesson_text.cpp), and a lesson played as text (lesson_play.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/process.h"
#include "core/base/result.h"
#include "sessions/explain/explain_step.h"
#include "sessions/lessons/lesson.h"
#include "sessions/lessons/lesson_run.h"
#include "sessions/text/input_file.h"

namespace hybridscope {

// The texts of a lesson as lines of a terminal.

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

// `hybridscope lessons export`: the lessons as a folder of pages for a browser.

// Makes the pages and writes them into `folder`, which is created if it is missing. Every page is
// made before the first one is written, each file is written completely or not at all, and a file
// of the same name is replaced only if an export wrote it. Errors: those of `make`; invalid_input,
// two lessons would share a page; not_available, the folder or a file cannot be written.
Status write_lesson_site(MakeLessonSite make, std::vector<Lesson> lessons,
                         const std::string& folder);

// `hybridscope lessons run`: a lesson played as text, part by part.

// The sections of explain_step that correspond to a panel; those of no panel where the word is
// empty or unknown.
std::span<const StepTopic> topics_of_panel(std::string_view panel);

enum class AnswerSource : std::uint8_t {
  nobody,    // the engine answers each question; compared with the lesson's answer
  terminal,  // an answer that cannot be read is asked for again
  lines,     // of a file or of what is piped in
};

// What a person at a terminal may type in place of an answer.
inline constexpr std::array<std::string_view, 4> kLessonWords = {"q", "back", "?", "hint"};

struct TakenLesson {
  const Lesson& lesson;
  std::string typed;  // what the command line calls it: a name or a file
  std::string key;    // what LessonProgress knows it by
};

// `answers`: one per line. At a terminal it begins where `progress` says that the lesson was left,
// and keeps its place there after each question; where that fails it says so once and goes on. The
// end of input at a terminal (Ctrl-D) leaves the lesson. Returns the exit code: 1 when an answer in
// the lesson differs from the engine's, 130 when it was interrupted.
int play_lesson(const TakenLesson& taken, AnswerSource source, LineSource& answers,
                LessonProgress& progress);

}  // namespace hybridscope
