// Hashes of the states that blocks hold in host memory.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/state_hash.h"

namespace hybridscope {

// Writes sums [blocks.size(), num_sums(states)], row-major. Rows of ids below 1 or of num_blocks
// and more are 0. Requires: check_hashed(states) is Ok; sums of that size.
void hash_states(const HashedStates& states, std::span<const std::int32_t> blocks,
                 std::span<std::uint64_t> sums);

}  // namespace hybridscope
