// Reads lesson files and texts into Lesson values (docs/lessons.md).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/lessons/lesson.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// One question of a lesson file. For lesson_reader.cpp.
LessonQuestion read_lesson_question(const JsonValue& place);

// Returns the text of the file at a path.
using ReadText = std::function<Result<std::string>(const std::string& path)>;

struct LessonText {
  std::string_view text;
  std::string_view file;  // its stem is the lesson's name; scenario paths are relative to it
};

// `read` returns the text of a scenario that the lesson names by path. Error corrupt with
// "FILE:LINE:COLUMN: ...": not JSON. Error invalid_input with "FILE: POINTER: ...": unknown keys,
// wrong types, an invalid scenario, unknown fields, invalid expressions, an answer that the field
// can never have.
Result<Lesson> parse_lesson(const LessonText& lesson, const ReadText& read);

// Error io: the file cannot be read.
Result<Lesson> read_lesson_file(const std::string& path);

// The lessons and scenarios built into the program.

// Their names, in the recommended order.
std::vector<std::string_view> shipped_lesson_names();

// Error not_found: no lesson has this name; names the nearest one and all others.
Result<Lesson> shipped_lesson(std::string_view name);

// The file names without .json, sorted.
std::vector<std::string_view> shipped_scenario_names();
// Error not_found: no scenario has this name.
Result<Scenario> shipped_scenario(std::string_view name);

}  // namespace hybridscope
