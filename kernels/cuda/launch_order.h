// The order in which a launch goes through its work. For tests: results must not depend on it.
#pragma once

#include <cstdint>

namespace hybridscope {

struct LaunchOrder {
  std::int64_t multiplier = 1;     // the i-th of n pieces is i * multiplier mod n, if coprime
  std::int32_t delayed_every = 0;  // every n-th piece waits for 50 microseconds; 0: none
};

}  // namespace hybridscope
