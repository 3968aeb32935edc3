// A RunPlan as text and back, complete: what a session keeps so that it runs again on any machine
// and without the files it came from.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/record/session_header.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

inline constexpr int kSessionPlanVersion = 1;

// JSON. The model is written out with its dimensions, prompts as their segments.
std::string write_session_plan(const RunPlan& plan);

// What a session of the plan's run says of itself, without a name and a level; its source is the
// plan's name.
SessionHeader run_header(const RunPlan& plan, CheckScope scope);

// Gives the plan that was written: running it makes the same traces. Error corrupt: no JSON. Error
// invalid_input, "FILE: POINTER: ...": another version, unknown or missing keys, values out of
// range, settings the model does not allow, requests that could never finish, scripts that name
// requests there are not.
Result<RunPlan> read_session_plan(std::string_view text, const std::string& file);

// What that plan's engine is set up with, quickly: requests, script and expectation are not looked
// at. Errors as above, as far as model and settings go.
Result<EngineSetup> read_session_plan_setup(std::string_view text, const std::string& file);

}  // namespace hybridscope
