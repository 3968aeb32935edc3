// What a language model said in a run, in words: each request's text beside what a lone run of it
// says, and where they part.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/language/language_values.h"
#include "sessions/explain/explain_names.h"

namespace hybridscope {

struct SpokenWords {
  std::int32_t vocab_size = 0;        // 256: tokens are bytes
  std::vector<std::string> requests;  // [texts] their names
  std::vector<SpokenText> texts;
};
SpokenWords spoken_words(std::vector<SpokenText> texts, std::int32_t vocab_size,
                         const Names& names);

// Bytes as text, others escaped ("\n", "\xf3"); without a vocabulary of bytes "12 7 40".
std::string tokens_as_text(std::span<const std::int32_t> ids, std::int32_t vocab_size);

// What a request said: the ids of its tokens, and these as text.
std::vector<std::int32_t> said_ids(const SpokenText& text);
std::string said_words(const SpokenText& text, std::int32_t vocab_size);

// How a request's text differs from its lone run's.
struct TextDifference {
  std::size_t first = 0;       // generated token where they part; the number of tokens: nowhere
  double mean_divergence = 0;  // KL(lone run || run) over all tokens, nats
  double most_divergence = 0;
  std::size_t most_at = 0;  // generated token
};
TextDifference text_difference(const SpokenText& text);

// "as alone", "parts from the lone run at token 3 (step 5): "x" for "4", margin 2.1; KL ...".
std::string text_verdict(const SpokenText& text, std::int32_t vocab_size);
// The texts for a page: [{request, prompt, said, alone, first_difference, verdict, spaced}]; said
// and alone are lists of tokens, alone is empty where it is the same.
nlohmann::ordered_json texts_for_page(const SpokenWords& words);

// One line a request: A: "prompt" -> "text", as alone. One whose texts part has both, one below the
// other.
std::string format_spoken(const SpokenWords& words);
// [{request, prompt, text, alone, forced, first_difference, kl_mean, kl_most, tokens}]
nlohmann::ordered_json spoken_to_json(const SpokenWords& words);

}  // namespace hybridscope
