// Where the golden vectors are.
#pragma once

#include <cstdlib>
#include <string>

#include "tests/support/golden.h"

namespace hybridscope::test {

// HYBRIDSCOPE_GOLDEN, or ../shared/golden.
inline std::string golden_folder() {
  const char* folder = std::getenv("HYBRIDSCOPE_GOLDEN");
  return folder == nullptr ? shared_dir() + "/golden" : folder;
}

}  // namespace hybridscope::test
