// Delta debugging on a list: tries to remove large parts first, down to single elements, and within
// each size the last part first.
#pragma once

#include <algorithm>
#include <cstddef>

namespace hybridscope {

// `drop(first, count)` tries to remove elements [first, first + count) of the current list and
// returns whether it did; `more()` is asked before each try. Returns whether anything was removed.
template <class Drop, class More>
bool reduce_list(std::size_t size, const Drop& drop, const More& more) {
  bool dropped = false;
  for (std::size_t part = size; part > 0; part /= 2) {
    for (std::size_t end = size; end > 0;) {
      if (!more()) return dropped;
      const std::size_t first = end > part ? end - part : 0;
      if (drop(first, end - first)) {
        size -= end - first;
        dropped = true;
      }
      end = first;
    }
    part = std::min(part, std::max<std::size_t>(size, 1));
  }
  return dropped;
}

}  // namespace hybridscope
