// Counts heap allocations of the program that compiles allocation_counter.cpp in, which replaces
// the global allocation functions.
#pragma once

#include <cstdint>

namespace hybridscope::test {

// Allocations by operator new since the program started; over-aligned ones are not counted.
std::int64_t num_allocations();

}  // namespace hybridscope::test
