// What a lesson says of a language model's answers, held against the model: a part's run is played
// to its end with the model on its decisions.
#pragma once

#include <memory>
#include <vector>

#include "core/numeric/hybrid_model.h"
#include "sessions/lessons/lesson_run.h"

namespace hybridscope {

// The texts of all parts (LessonPart::says).
std::size_t num_sayings(const Lesson& lesson);

// What requests do not say as the lesson says they do; empty if each does. A part that cannot be
// run is a problem of the whole part.
std::vector<LessonProblem> check_sayings(const Lesson& lesson,
                                         const std::shared_ptr<const HybridModel>& model);

}  // namespace hybridscope
