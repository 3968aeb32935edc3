// What a language model said differently in two runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/run/spoken_words.h"

namespace hybridscope {

struct DifferingText {
  std::string request;
  std::size_t first = 0;    // generated token where they part, from 0
  std::int64_t step_a = 0;  // in which it was said; 0: the text has ended there
  std::int64_t step_b = 0;
  std::string token_a;  // the token; empty: as above
  std::string token_b;
  std::string a;  // the whole texts
  std::string b;
  std::size_t token_begins = 0;  // where the token begins in both, characters
  friend bool operator==(const DifferingText&, const DifferingText&) = default;
};

// The differing texts of requests with the same name, in the order of A; requests that only one run
// has are left out.
std::vector<DifferingText> differing_texts(const SpokenWords& a, const SpokenWords& b);

// "r: the texts part at token 3 (step 4 of A, step 5 of B): "x" and "4"", with the runs' names.
std::string text_difference_words(const DifferingText& text, std::string_view run_a = "A",
                                  std::string_view run_b = "B");

}  // namespace hybridscope
