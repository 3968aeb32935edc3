// Which states of which blocks are hashed; the numbers are those of kernels/hash_body.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "kernels/hash_body.h"

namespace hybridscope {

struct HashedStates {
  std::vector<HashView> views;
  std::int32_t num_blocks = 0;
};

// Numbers that a block has: the temporal one, then one for each position of the widest conv state.
std::int64_t num_sums(const HashedStates& states);

// Ok, or what is wrong: a size or a number that is negative, elements that are not of 1, 2 or 4
// bytes, a place that does not fit into 64 bits.
Status check_hashed(const HashedStates& states);

}  // namespace hybridscope
