// A lesson as the data of its page: its parts with the replies to every foreseen answer, and each
// step of its runs.
#pragma once

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope {

// A run is shown to its end, but no further than this unless a part is about a later step.
inline constexpr std::int64_t kMostLessonSteps = 100;

// {name, title, digest, parts: [...], runs: [...], legend, panels}. `digest` changes with the
// questions, so that a browser forgets answers to other ones. Errors: those of LessonRun; a part
// whose step the run does not have.
Result<nlohmann::ordered_json> lesson_data(const Lesson& lesson);

}  // namespace hybridscope
