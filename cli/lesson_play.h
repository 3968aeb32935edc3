// `hybridscope lessons run`: a lesson played as text, part by part.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cli/lesson_progress.h"
#include "core/base/result.h"
#include "sessions/explain/explain_step.h"
#include "sessions/lessons/lesson.h"
#include "sessions/text/input_file.h"

namespace hybridscope {

// What a part of a lesson shows of its step, as text.

// The sections of explain_step that correspond to a panel; those of no panel where the word is
// empty or unknown.
std::span<const StepTopic> topics_of_panel(std::string_view panel);

// The panel of the part at its step. Error: the scenario does not run that far.
Result<std::string> format_lesson_view(const Lesson& lesson, const LessonPart& part);

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
