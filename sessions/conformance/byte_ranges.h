// Do the copies of one launch get in each other's way?
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hybridscope {

// Bytes [begin, end) of a buffer that one copy reads or writes.
struct ByteRange {
  std::size_t buffer = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::size_t owner = 0;  // which copy
  bool written = false;
};

// Do two ranges of different owners overlap, at least one of them written?
bool ranges_conflict(std::vector<ByteRange> ranges);

}  // namespace hybridscope
