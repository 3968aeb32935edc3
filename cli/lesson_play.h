// `hybridscope lessons run`: a lesson played as text, part by part.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "sessions/lessons/lesson.h"

namespace hybridscope {

enum class AnswerSource : std::uint8_t {
  nobody,    // each question is answered by the engine and held against the lesson
  terminal,  // an answer that cannot be read is asked for again
  lines,     // of a file or of what is piped in
};

// `answers`: a line each. Returns the exit code: 1 when an answer of the lesson is not the
// engine's.
int play_lesson(const Lesson& lesson, AnswerSource source, std::istream& answers);

}  // namespace hybridscope
