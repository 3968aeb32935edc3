// The requests of a RunPlan as JSON and back. Compact and fast, because real traffic has hundreds
// of thousands of prompt segments. For session_plan.cpp.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string_view>
#include <vector>

#include "sessions/scenario/arriving_request.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// The text in quotes; bytes that are not UTF-8 become U+FFFD.
void append_json_text(fmt::memory_buffer& out, std::string_view text);

// [{"id": "A", "prompt": [source, content, first, length, ...], "max_tokens": 4, "key": 7}, ...];
// members with their default value are left out.
void append_requests(fmt::memory_buffer& out, std::span<const ArrivingRequest> requests);

// A JsonFault says what is wrong: types, numbers out of range, empty prompts, requests that are not
// in the order in which they join.
std::vector<ArrivingRequest> read_requests(const JsonValue& value);

}  // namespace hybridscope
