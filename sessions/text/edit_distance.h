// How much two words differ in spelling.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hybridscope {

// The Levenshtein distance: how many bytes must be inserted, removed or replaced to make `a` of
// `b`. The case of letters counts.
std::size_t edit_distance(std::string_view a, std::string_view b);

// ", did you mean \"prompt\"?", or empty when no known key is similar.
std::string nearest_key_hint(std::string_view key, const std::vector<std::string_view>& known_keys);

}  // namespace hybridscope
