// How much two words differ in spelling.
#pragma once

#include <cstddef>
#include <string_view>

namespace hybridscope {

// The Levenshtein distance: how many bytes must be inserted, removed or replaced to make `a` of
// `b`. The case of letters counts.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace hybridscope
