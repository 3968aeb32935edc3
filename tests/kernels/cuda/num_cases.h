// How many cases a random test on a device runs.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace hybridscope::test {

// `usual`, or fewer where HYBRIDSCOPE_CASES says so, for tools that slow a device down.
inline int num_cases(int usual) {
  const char* most = std::getenv("HYBRIDSCOPE_CASES");
  return most == nullptr ? usual : std::min(usual, std::atoi(most));
}

}  // namespace hybridscope::test
