// The lessons and scenarios that are part of the program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope {

// Their names, in the order in which they are best taken.
std::vector<std::string_view> shipped_lesson_names();

// Error not_found: none is called so, with the nearest name and all there are.
Result<Lesson> shipped_lesson(std::string_view name);

// Their files' names without .json, sorted.
std::vector<std::string_view> shipped_scenario_names();
// Error not_found: likewise.
Result<Scenario> shipped_scenario(std::string_view name);

}  // namespace hybridscope
