#include "sessions/run/text_differences.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "core/base/fingerprint.h"

namespace hybridscope {
namespace {

// Where token `index` begins in what was said.
std::size_t begin_of(const SpokenText& text, std::size_t index, std::int32_t vocab_size) {
  const std::vector<std::int32_t> ids = said_ids(text);
  const bool is_spaced = index > 0 && vocab_size != kByteVocabulary;
  return tokens_as_text(std::span(ids).first(index), vocab_size).size() + (is_spaced ? 1 : 0);
}

std::string token_at(const SpokenText& text, std::size_t index, std::int32_t vocab_size) {
  return index < text.tokens.size() ? tokens_as_text({&text.tokens[index].id, 1}, vocab_size)
                                    : std::string();
}

std::int64_t step_at(const SpokenText& text, std::size_t index) {
  return index < text.tokens.size() ? text.tokens[index].step : 0;
}

}  // namespace

std::vector<DifferingText> differing_texts(const SpokenWords& a, const SpokenWords& b) {
  std::multimap<std::string, const SpokenText*> of_b;  // those of one name in their order
  for (std::size_t i = 0; i < b.texts.size(); ++i) of_b.emplace(b.requests[i], &b.texts[i]);
  std::vector<DifferingText> differing;
  for (std::size_t i = 0; i < a.texts.size(); ++i) {
    const auto found = of_b.find(a.requests[i]);
    if (found == of_b.end()) continue;
    const SpokenText& one = a.texts[i];
    const SpokenText& other = *found->second;
    of_b.erase(found);
    const auto same = [](const SpokenToken& x, const SpokenToken& y) { return x.id == y.id; };
    const auto first = static_cast<std::size_t>(
        std::ranges::mismatch(one.tokens, other.tokens, same).in1 - one.tokens.begin());
    if (first == one.tokens.size() && first == other.tokens.size()) continue;
    differing.push_back({.request = a.requests[i],
                         .first = first,
                         .step_a = step_at(one, first),
                         .step_b = step_at(other, first),
                         .token_a = token_at(one, first, a.vocab_size),
                         .token_b = token_at(other, first, b.vocab_size),
                         .a = said_words(one, a.vocab_size),
                         .b = said_words(other, b.vocab_size),
                         .token_begins = begin_of(one, first, a.vocab_size)});
  }
  return differing;
}

std::string text_difference_words(const DifferingText& text, std::string_view run_a,
                                  std::string_view run_b) {
  const auto token = [](const std::string& words, std::int64_t step) {
    return step == 0 ? std::string("nothing") : fmt::format("\"{}\"", words);
  };
  const auto step = [](std::string_view side, std::int64_t number) {
    return number == 0 ? fmt::format("{} has ended", side)
                       : fmt::format("step {} of {}", number, side);
  };
  return fmt::format("{}: the texts part at token {} ({}, {}): {} and {}", text.request,
                     text.first + 1, step(run_a, text.step_a), step(run_b, text.step_b),
                     token(text.token_a, text.step_a), token(text.token_b, text.step_b));
}

}  // namespace hybridscope
