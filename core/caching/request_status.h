// Where a request is in its life, as the cache manager needs to know it (semantics: allocate-slots,
// schedule-waiting).
#pragma once

#include <cstdint>

namespace hybridscope {

enum class RequestStatus : std::uint8_t { waiting, running, preempted, finished };

}  // namespace hybridscope
