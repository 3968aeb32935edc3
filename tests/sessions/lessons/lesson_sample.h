// A small lesson for tests, with pieces to change.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sessions/lessons/lesson.h"

namespace hybridscope::test {

// One part at step 2 of a run in which A (prompt 6, B = 8, K = 1) accepts its draft and reaches the
// block boundary; one question: the post-copy's destination column, 0.
nlohmann::json sample_lesson();

// The lesson of this document, which has to be one.
Lesson read_sample(const nlohmann::json& document);

// "no error", or what is wrong with the document; it is called "lesson.json".
std::string sample_error(const nlohmann::json& document);

}  // namespace hybridscope::test
