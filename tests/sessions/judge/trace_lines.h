// A small healthy trace for tests to change: a header, step 1 that admits "a" and "b", step 2 in
// which both continue with drafts.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sessions/judge/trace_reader.h"

namespace hybridscope::test {

// [header, step 1, step 2]
std::vector<nlohmann::json> healthy_trace();

// Reads the lines as numbers 1, 2, ... of "t.jsonl". The message of the first error, or "".
std::string read_error(TraceReader& reader, const std::vector<nlohmann::json>& lines);
std::string read_error(const std::vector<nlohmann::json>& lines);

}  // namespace hybridscope::test
