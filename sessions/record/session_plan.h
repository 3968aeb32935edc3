// A RunPlan as text and back, complete: what a session keeps so that it runs again on any machine
// and without the files it came from.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/run_plan.h"

namespace hybridscope {

// JSON. The model is written out with its dimensions, prompts as their segments.
std::string write_session_plan(const RunPlan& plan);

// Error, with `file` and a JSON pointer: no such plan, an unknown version of it, values out of
// range, settings the model does not allow.
Result<RunPlan> read_session_plan(std::string_view text, const std::string& file);

}  // namespace hybridscope
