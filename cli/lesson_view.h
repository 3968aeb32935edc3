// What a part of a lesson shows of its step, as text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/explain/explain_step.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope {

// The sections of explain_step that stand for a panel; those of no panel where the word is empty or
// unknown.
std::span<const StepTopic> topics_of_panel(std::string_view panel);

// The panel of the part at its step. Error: the scenario does not run that far.
Result<std::string> format_lesson_view(const Lesson& lesson, const LessonPart& part);

}  // namespace hybridscope
