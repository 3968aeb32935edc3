// Shared by the fuzzed readers: the functions that tests and libFuzzer call with an input, and how
// a broken promise is reported.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string_view>

namespace hybridscope::test {

#define HYBRIDSCOPE_FUZZ_TARGET(name) void fuzz_##name(std::string_view text);
#include "tests/fuzz/fuzz_targets.inc"
#undef HYBRIDSCOPE_FUZZ_TARGET

// Aborts the program if the promise is broken, which a fuzzer counts as a find.
inline void expect(bool holds, std::string_view promise, std::string_view about = {}) {
  if (holds) return;
  std::cerr << "broken: " << promise << ": " << about << std::endl;
  std::abort();
}

// An error is one line that begins with what it is about.
inline void expect_one_line(std::string_view message, std::string_view beginning) {
  expect(!message.empty() && message.starts_with(beginning) &&
             message.find('\n') == std::string_view::npos,
         "one line of error", message);
}

}  // namespace hybridscope::test
