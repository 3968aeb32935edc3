// The policy of dummy runs.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// Data parallel: which block tables does a dummy run use? Left-over rows belong to no request any
// more, but the blocks that they name may belong to another request by now. (known bug 14)
enum class DummyRunTables : std::uint8_t {
  zeroed,     // every row is a null row
  left_over,  // V1: the host's rows; V2: the rows that were gathered last
};
template <>
struct PolicyOf<DummyRunTables> : PolicyAt<DummyRunTables::zeroed, 56> {};

}  // namespace hybridscope
