#include "sessions/conformance/byte_ranges.h"

#include <algorithm>
#include <tuple>

namespace hybridscope {

// Sweeps over the ranges by where they begin; `open` has those that reach the current one.
bool ranges_conflict(std::vector<ByteRange> ranges) {
  std::erase_if(ranges, [](const ByteRange& range) { return range.begin >= range.end; });
  std::ranges::sort(ranges, {}, [](const ByteRange& range) {
    return std::tuple(range.buffer, range.begin, range.end);
  });
  std::vector<ByteRange> open;
  for (const ByteRange& range : ranges) {
    std::erase_if(open, [&](const ByteRange& earlier) {
      return earlier.buffer != range.buffer || earlier.end <= range.begin;
    });
    for (const ByteRange& earlier : open)
      if (earlier.owner != range.owner && (earlier.written || range.written)) return true;
    open.push_back(range);
  }
  return false;
}

}  // namespace hybridscope
