// Reads the reference vectors (tests/golden) and compares JSON by the rules of their README.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace hybridscope::test {

using Json = nlohmann::json;

// The folder of the vectors: HYBRIDSCOPE_GOLDEN, or tests/golden in the source tree.
std::string golden_dir();

// The file of a kind: "scheduler" gives GOLDEN/scheduler.jsonl.zst.
std::string golden_path(std::string_view kind);

// The first case of a kind. Throws std::runtime_error when the file cannot be read or is empty.
Json first_case(std::string_view kind);

// Calls `check` with the text of every case of a kind. Throws std::runtime_error when the file
// cannot be read.
void for_each_line(std::string_view kind,
                   const std::function<void(const std::string& line)>& check);

// The same with parsed JSON; returns the number of cases.
int for_each_case(std::string_view kind, const std::function<void(const Json& test_case)>& check);

// Empty when `got` equals `expected`, else path, expected value and found value of the first
// difference. In arrays of `expected`, null (an element the reference never wrote) matches
// anything; as an object's member, null must match null.
std::string first_difference(const Json& expected, const Json& got);

}  // namespace hybridscope::test
