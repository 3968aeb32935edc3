// Which titles a few typed letters mean, and in which order: the search of the command palette.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hybridscope {

struct FuzzyMatch {
  std::int32_t score = 0;              // only good for comparing matches of one query
  std::vector<std::size_t> positions;  // ascending: the bytes of the title to highlight
  friend bool operator==(const FuzzyMatch&, const FuzzyMatch&) = default;
};

// The characters of the query in their order, anywhere in the title; spaces in the query and the
// case of ASCII letters do not count. Of all such places the one with the best score: characters
// score more side by side, more where a word begins, most where the title does. An empty query
// matches with 0; nothing where there is no match.
std::optional<FuzzyMatch> fuzzy_match(std::string_view query, std::string_view title);

struct RankedMatch {
  std::size_t index = 0;  // of the title
  FuzzyMatch match;
};

// Best score first, then the shorter title, then the order given; an empty query keeps that order.
std::vector<RankedMatch> rank_titles(std::string_view query,
                                     const std::vector<std::string_view>& titles);

}  // namespace hybridscope
