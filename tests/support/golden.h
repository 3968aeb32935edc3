// Reads golden vectors (../shared/golden/*.jsonl) and compares JSON as the vectors want it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace hybridscope::test {

using Json = nlohmann::json;

// The folder with golden/ and traces/; it does not exist on every machine.
std::string shared_dir();

// Is ../shared/golden there? Tests that need it skip otherwise.
bool golden_available();

// Calls `check` with every case of golden/`file`; returns how many there were.
int for_each_case(const std::string& file, const std::function<void(const Json& test_case)>& check);

// Empty when `got` equals `expected`, else the path, the expected and the found value of the first
// difference. null inside arrays of `expected` (an element the reference never wrote) matches
// anything; null as an object's field must be null.
std::string first_difference(const Json& expected, const Json& got);

}  // namespace hybridscope::test

// Put first in a test that reads golden/.
#define HS_NEED_GOLDEN()                        \
  if (!::hybridscope::test::golden_available()) \
  GTEST_SKIP() << "no ../shared/golden beside the project"
