// Blocks of states in bfloat16, on a device.
#pragma once

#include <cstdint>
#include <span>

namespace hybridscope {

// As StatePool, of elements that are rounded to nearest even when they are stored and float32 while
// a row runs.
struct Bf16StatePool {
  std::span<std::uint16_t> data;  // [num_blocks, block_elements]
  std::int64_t block_elements = 0;
};

}  // namespace hybridscope
