// How much memory this machine still has for a process.
#pragma once

#include <cstdint>

namespace hybridscope {

// Bytes; Linux: what can be had without swapping, and what the control group leaves. -1 where
// nothing says so.
std::int64_t available_memory_bytes();

}  // namespace hybridscope
