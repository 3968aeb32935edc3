// A complete RunPlan as text and back. A session keeps it so that it can be run again on any
// machine, without the files it came from.
#pragma once

#include <fmt/format.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/step_record.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// The requests of a RunPlan as JSON and back. Compact and fast, because real traffic has hundreds
// of thousands of prompt segments. For session_plan.cpp.

// The text in quotes; bytes that are not UTF-8 become U+FFFD.
void append_json_text(fmt::memory_buffer& out, std::string_view text);

// [{"id": "A", "prompt": [source, content, first, length, ...], "max_tokens": 4, "key": 7}, ...];
// members with their default value are left out.
void append_requests(fmt::memory_buffer& out, std::span<const ArrivingRequest> requests);

// A JsonFault says what is wrong: types, numbers out of range, empty prompts, requests that are not
// in the order in which they join.
std::vector<ArrivingRequest> read_requests(const JsonValue& value);

inline constexpr int kSessionPlanVersion = 1;

// JSON. The model is written with its dimensions, prompts with their segments.
std::string write_session_plan(const RunPlan& plan);

// The session header of a run of the plan, without name and level; the source is the plan's name.
SessionHeader run_header(const RunPlan& plan, CheckScope scope);

// What the session header of a judged trace is made from.
struct JudgedSession {
  std::string_view source;
  std::string_view engine;
  std::string_view header_line;  // of the trace
  const EngineConfig& config;
  CheckScope scope = CheckScope::step;
};

// The session header of a judged trace, without name and level.
SessionHeader judge_header(const JudgedSession& session);

// The plan as written: running it makes the same traces. Error corrupt: not JSON. Error
// invalid_input, "FILE: POINTER: ...": another version, unknown or missing keys, values out of
// range, settings the model does not allow, requests that could never finish, scripts that name
// unknown requests.
Result<RunPlan> read_session_plan(std::string_view text, const std::string& file);

// Only the engine's set-up, which is fast: requests, script and expectation are not read. Errors as
// above, for model and settings.
Result<EngineSetup> read_session_plan_setup(std::string_view text, const std::string& file);

}  // namespace hybridscope
