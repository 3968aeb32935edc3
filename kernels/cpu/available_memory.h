// How much memory this machine still has for a process.
#pragma once

#include <cstdint>

namespace hybridscope {

// Bytes; Linux: the smaller of what is available without swapping and what the control group
// leaves. -1: not known.
std::int64_t available_memory_bytes();

}  // namespace hybridscope
