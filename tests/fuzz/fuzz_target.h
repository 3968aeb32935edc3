// Shared by the fuzzed readers: the entry point, and how a broken promise is reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

// libFuzzer's entry point, called by replay.cpp as well. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace hybridscope::test {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

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
