// Lesson files and texts into Lesson values (docs/lessons.md).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope {

// The text of the file at a path.
using ReadText = std::function<Result<std::string>(const std::string& path)>;

struct LessonText {
  std::string_view text;
  std::string_view file;  // its stem is the lesson's name; paths of scenarios are relative to it
};

// `read` gives a scenario that is named by its path. Error corrupt with "FILE:LINE:COLUMN: ..." for
// what is no JSON; invalid_input with "FILE: POINTER: ..." for unknown keys, wrong types, a
// scenario that is wrong, fields and expressions that there are not, an answer that the field never
// has.
Result<Lesson> parse_lesson(const LessonText& lesson, const ReadText& read);

// Error io when the file cannot be read.
Result<Lesson> read_lesson_file(const std::string& path);

}  // namespace hybridscope
