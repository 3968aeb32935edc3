// The order in which parts of a list are left out: delta debugging, from all of it down to single
// elements, the last ones first.
#pragma once

#include <algorithm>
#include <cstddef>

namespace hybridscope {

// `drop(first, count)` leaves out elements [first, first + count) of the list as it is then, and
// answers whether they are gone; `more()` is asked before each. Answers whether anything went.
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
