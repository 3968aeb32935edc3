// The search of the command palette: which titles match a few typed letters, and in which order.
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

// Finds the query's characters in order, anywhere in the title; spaces in the query and the case of
// ASCII letters are ignored. Of all matches the one with the best score: adjacent characters score
// more, more at the start of a word, most at the start of the title. An empty query matches with
// score 0. Empty: no match.
std::optional<FuzzyMatch> fuzzy_match(std::string_view query, std::string_view title);

struct RankedMatch {
  std::size_t index = 0;  // of the title
  FuzzyMatch match;
};

// Best score first, then the shorter title, then the order given; an empty query keeps that order.
std::vector<RankedMatch> rank_titles(std::string_view query,
                                     const std::vector<std::string_view>& titles);

}  // namespace hybridscope
