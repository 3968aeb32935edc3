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

// Another one, without findings: a header of one attention and one recurrent group with blocks of 8
// tokens and hashes of 2. Step 1 runs 20 of the 21 prompt tokens of "a", step 2 the last one: its
// block 5 is copied to 6, which the prefix cache keeps. Step 3 admits "b", which shares 20 tokens.
std::vector<nlohmann::json> shared_tail();

// Reads the lines as numbers 1, 2, ... of "t.jsonl". The message of the first error, or "".
std::string read_error(TraceReader& reader, const std::vector<nlohmann::json>& lines);
std::string read_error(const std::vector<nlohmann::json>& lines);

}  // namespace hybridscope::test
