// Helpers for lists and numbers of the slow oracle, which uses nothing of core.
#pragma once

#include <cstddef>
#include <vector>

namespace hybridscope::test {

inline int ceil_div(int a, int b) { return (a + b - 1) / b; }

inline int size_of(const std::vector<int>& list) { return static_cast<int>(list.size()); }

inline int& at(std::vector<int>& list, int index) {
  return list.at(static_cast<std::size_t>(index));
}
inline int at(const std::vector<int>& list, int index) {
  return list.at(static_cast<std::size_t>(index));
}

}  // namespace hybridscope::test
