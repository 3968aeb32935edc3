// The lessons and scenarios built into the program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope {

// Their names, in the recommended order.
std::vector<std::string_view> shipped_lesson_names();

// Error not_found: no lesson has this name; names the nearest one and all others.
Result<Lesson> shipped_lesson(std::string_view name);

// The file names without .json, sorted.
std::vector<std::string_view> shipped_scenario_names();
// Error not_found: no scenario has this name.
Result<Scenario> shipped_scenario(std::string_view name);

}  // namespace hybridscope
