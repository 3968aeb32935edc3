// The search of the command palette: which titles match a few typed letters, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hybridscope {

// How well a query and a title agree, the best first. Spaces around the query and the case of ASCII
// letters do not count.
enum class MatchKind : std::uint8_t {
  whole,      // the query is the title
  begins,     // the title begins with the query, spaces aside
  words,      // each word of the query begins a word of the title, in the query's order
  inside,     // the title contains the query
  scattered,  // the title has the query's characters in their order
};

struct FuzzyMatch {
  MatchKind kind = MatchKind::scattered;
  std::int32_t score = 0;              // only good for comparing matches of one query and kind
  std::vector<std::size_t> positions;  // ascending: the bytes of the title to highlight
  friend bool operator==(const FuzzyMatch&, const FuzzyMatch&) = default;
};

// Finds the query's characters in order, anywhere in the title; spaces in the query and the case of
// ASCII letters are ignored. Of all matches the one with the best score: adjacent characters score
// more, more at the start of a word, most at the start of the title. An empty query begins every
// title, with score 0. Empty: no match.
std::optional<FuzzyMatch> fuzzy_match(std::string_view query, std::string_view title);

// Is the part somewhere in the text, ignoring the case of ASCII letters? An empty one is.
bool contains(std::string_view text, std::string_view part);

}  // namespace hybridscope
