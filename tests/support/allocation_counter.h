// Counts the heap allocations of a program. Compile allocation_counter.cpp into it; that file
// replaces the global allocation functions.
#pragma once

#include <cstdint>

namespace hybridscope::test {

// Calls of operator new since the program started, except over-aligned ones.
std::int64_t num_allocations();

}  // namespace hybridscope::test
