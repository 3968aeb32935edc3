// The questions of a lesson file. For lesson_reader.
#pragma once

#include "sessions/lessons/lesson.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {

LessonQuestion read_lesson_question(const JsonPlace& place, JsonErrors& errors);

}  // namespace hybridscope
