// Adjacent states in the list of all states.
#pragma once

#include <cstdint>

namespace hybridscope {

struct StateRange {
  std::int32_t first = 0;  // flat state index
  std::int32_t count = 0;
};

}  // namespace hybridscope
