#include "sessions/run/spoken_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/fingerprint.h"
#include "core/language/spoken_texts.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxTextsShown = 20;

// The end of a text, so that a line stays a line.
std::string shown_end(std::span<const std::int32_t> ids, std::int32_t vocab_size) {
  constexpr std::size_t kMost = 60;
  const bool cut = ids.size() > kMost;
  return fmt::format("\"{}{}\"", cut ? "..." : "",
                     tokens_as_text(cut ? ids.last(kMost) : ids, vocab_size));
}
std::string shown_beginning(std::span<const std::int32_t> ids, std::int32_t vocab_size) {
  constexpr std::size_t kMost = 80;
  const bool cut = ids.size() > kMost;
  return fmt::format("\"{}{}\"", tokens_as_text(cut ? ids.first(kMost) : ids, vocab_size),
                     cut ? "..." : "");
}

std::string format_text(const std::string& request, const SpokenText& text,
                        std::int32_t vocab_size) {
  const bool parts = !text.is_forced && parts_from_lone_run(text);
  return fmt::format(
      "{}: {} -> {}{}{}\n", request, shown_end(text.prompt, vocab_size),
      shown_beginning(said_ids(text), vocab_size),
      parts ? fmt::format("\n  alone: {}\n  ", shown_beginning(text.alone, vocab_size)) : ", ",
      text_verdict(text, vocab_size));
}

}  // namespace

SpokenWords spoken_words(std::vector<SpokenText> texts, std::int32_t vocab_size,
                         const Names& names) {
  SpokenWords words{.vocab_size = vocab_size, .requests = {}, .texts = std::move(texts)};
  for (const SpokenText& text : words.texts)
    words.requests.push_back(std::string(names.request(text.request)));
  return words;
}

std::string tokens_as_text(std::span<const std::int32_t> ids, std::int32_t vocab_size) {
  if (vocab_size != kByteVocabulary) return fmt::format("{}", fmt::join(ids, " "));
  std::string text;
  for (const std::int32_t id : ids) {
    if (id == '\n')
      text += "\\n";
    else if (id == '"' || id == '\\')
      text += {'\\', static_cast<char>(id)};
    else if (id >= 0x20 && id < 0x7F)
      text += static_cast<char>(id);
    else
      text += fmt::format("\\x{:02x}", id);
  }
  return text;
}

std::vector<std::int32_t> said_ids(const SpokenText& text) {
  std::vector<std::int32_t> ids;
  for (const SpokenToken& token : text.tokens) ids.push_back(token.id);
  return ids;
}

std::string said_words(const SpokenText& text, std::int32_t vocab_size) {
  return tokens_as_text(said_ids(text), vocab_size);
}

TextDifference text_difference(const SpokenText& text) {
  TextDifference difference{.first = text.tokens.size()};
  for (std::size_t i = 0; i < text.tokens.size(); ++i) {
    const SpokenToken& token = text.tokens[i];
    if (token.id != token.twin_id) difference.first = std::min(difference.first, i);
    difference.mean_divergence += token.divergence / static_cast<double>(text.tokens.size());
    if (token.divergence > difference.most_divergence) {
      difference.most_divergence = token.divergence;
      difference.most_at = i;
    }
  }
  return difference;
}

std::string text_verdict(const SpokenText& text, std::int32_t vocab_size) {
  if (text.is_forced) return "some tokens were given by a prompt that came before them";
  const TextDifference difference = text_difference(text);
  if (difference.first == text.tokens.size()) return "as alone";
  const SpokenToken& token = text.tokens[difference.first];
  return fmt::format(
      "parts from the lone run at token {} (step {}): \"{}\" for \"{}\", margin {:.2g}; KL "
      "{:.3g} on average, {:.3g} at most, at token {}",
      difference.first + 1, token.step, tokens_as_text({&token.id, 1}, vocab_size),
      tokens_as_text({&token.twin_id, 1}, vocab_size), token.margin, difference.mean_divergence,
      difference.most_divergence, difference.most_at + 1);
}

nlohmann::ordered_json texts_for_page(const SpokenWords& words) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  const auto pieces = [&words](const std::vector<std::int32_t>& ids) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const std::int32_t id : ids) list.push_back(tokens_as_text({&id, 1}, words.vocab_size));
    return list;
  };
  for (std::size_t i = 0; i < words.texts.size(); ++i) {
    const SpokenText& text = words.texts[i];
    const std::size_t first = text_difference(text).first;
    json.push_back({{"request", words.requests[i]},
                    {"prompt", tokens_as_text(text.prompt, words.vocab_size)},
                    {"said", pieces(said_ids(text))},
                    {"alone", pieces(text.alone)},
                    {"first_difference", first},
                    {"verdict", text_verdict(text, words.vocab_size)},
                    {"spaced", words.vocab_size != kByteVocabulary}});
  }
  return json;
}

std::string format_spoken(const SpokenWords& words) {
  std::string text;
  const std::size_t shown = std::min(words.texts.size(), kMaxTextsShown);
  for (std::size_t i = 0; i < shown; ++i)
    text += format_text(words.requests[i], words.texts[i], words.vocab_size);
  if (shown < words.texts.size())
    text += fmt::format("... and {} more texts (--json has all)\n", words.texts.size() - shown);
  return text;
}

nlohmann::ordered_json spoken_to_json(const SpokenWords& words) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < words.texts.size(); ++i) {
    const SpokenText& text = words.texts[i];
    const TextDifference difference = text_difference(text);
    const bool parts = difference.first < text.tokens.size();
    nlohmann::ordered_json tokens = nlohmann::ordered_json::array();
    for (const SpokenToken& token : text.tokens)
      tokens.push_back({{"step", token.step},
                        {"position", token.position},
                        {"token", token.id},
                        {"lone_run", token.twin_id},
                        {"drafted", token.was_drafted},
                        {"margin", token.margin},
                        {"kl", token.divergence}});
    json.push_back(
        {{"request", words.requests[i]},
         {"prompt", tokens_as_text(text.prompt, words.vocab_size)},
         {"text", said_words(text, words.vocab_size)},
         {"alone", tokens_as_text(parts ? text.alone : said_ids(text), words.vocab_size)},
         {"forced", text.is_forced},
         {"first_difference",
          parts ? nlohmann::ordered_json(difference.first) : nlohmann::ordered_json()},
         {"kl_mean", difference.mean_divergence},
         {"kl_most", difference.most_divergence},
         {"tokens", std::move(tokens)}});
  }
  return json;
}

}  // namespace hybridscope
