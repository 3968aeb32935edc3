// The order in which a launch goes through its work. For tests: results must not depend on it.
#pragma once

#include <cstdint>

namespace hybridscope {

struct LaunchOrder {
  std::int64_t multiplier = 1;     // piece i of n is number i * multiplier mod n, where that is one
  std::int32_t delayed_every = 0;  // every so many pieces one waits for 50 microseconds; 0: none
};

}  // namespace hybridscope
