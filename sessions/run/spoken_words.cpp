#include "sessions/run/spoken_words.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/language/numeric_memory.h"
#include "core/language/spoken_texts.h"
#include "core/numeric/hybrid_model.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"

namespace hybridscope {

Result<SpeechInfo> make_speech_info(const HybridModel& model, const KVCacheConfig& config,
                                    const std::string& folder, NumericForm form) {
  const auto groups = groups_of_layers(model, config);
  if (!groups) return groups.error();
  SpeechInfo info{
      .weights = weights_name(folder), .form = form, .vocab_size = model.vocab_size, .layers = {}};
  static constexpr const char* kKinds[] = {"Mamba2", "GatedDeltaNet", "short convolution",
                                           "attention"};
  static_assert(std::size(kKinds) == std::variant_size_v<Mixer>);
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    info.layers.push_back({groups.value()[i], kKinds[model.layers[i].mixer.index()],
                           !model.layers[i].is_attention()});
  return info;
}

std::string_view numeric_form_name(NumericForm form) {
  return form == NumericForm::chunked ? "chunked" : "recurrent";
}

std::optional<NumericForm> parse_numeric_form(std::string_view name) {
  for (const NumericForm form : {NumericForm::recurrent, NumericForm::chunked})
    if (name == numeric_form_name(form)) return form;
  return std::nullopt;
}

std::string weights_name(const std::string& folder) {
  const auto path = std::filesystem::path(folder).lexically_normal();
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  return name.empty() ? folder : name;
}

std::string speech_words(const SpeechInfo& info) {
  return fmt::format("Language model {}, form {}", info.weights, numeric_form_name(info.form));
}

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

namespace {

struct SaidInStep {
  std::vector<std::int32_t> said;
  std::vector<std::int32_t> alone;
  std::vector<std::int32_t> rejected;
};

std::map<RequestId, SaidInStep> by_request(const StepWords& words) {
  std::map<RequestId, SaidInStep> requests;
  for (const StepWords::Token& token : words.tokens) {
    requests[token.request].said.push_back(token.token.id);
    requests[token.request].alone.push_back(token.token.twin_id);
  }
  for (const StepWords::Draft& rejected : words.rejected)
    requests[rejected.request].rejected.push_back(rejected.draft.id);
  return requests;
}

std::string line_of(const SaidInStep& request, std::string_view name, std::int32_t vocab_size) {
  std::string line = fmt::format("{} says \"{}\"", name, tokens_as_text(request.said, vocab_size));
  if (request.said != request.alone)
    line += fmt::format(", a lone run there \"{}\"", tokens_as_text(request.alone, vocab_size));
  if (!request.rejected.empty())
    line += fmt::format("; rejected drafts \"{}\"", tokens_as_text(request.rejected, vocab_size));
  return line;
}

}  // namespace

std::string explain_speech(const StepSpeech& speech, const SpeechInfo& info, const Names& names) {
  const auto requests = by_request(speech.words);
  if (requests.empty() && speech.compared.empty()) return {};
  TextPage page;
  page.heading(speech_words(info));
  for (const auto& [request, said] : requests)
    page.line(line_of(said, names.request(request), info.vocab_size));
  const auto places = static_cast<std::int64_t>(speech.compared.size());
  if (places > 0 && speech.states.empty())
    page.line(fmt::format("{} compared with lone runs: all equal in every bit",
                          counted(places, "state")));
  for (std::size_t i = 0; i < std::min(speech.states.size(), kMostStatesExplained); ++i) {
    const StateDifference& state = speech.states[i];
    page.line(fmt::format(
        "block {}, layer {}: the {} that a row of {} {} differs from the lone run's after {} "
        "tokens, by at most {:.3g}, in {} elements",
        state.block, state.layer, state.kind == StateKind::conv ? "conv window" : "temporal state",
        names.request(state.request), state.is_read ? "read" : "left", state.num_tokens,
        state.largest, grouped_number(state.num_elements)));
  }
  if (speech.states.size() > kMostStatesExplained)
    page.line(fmt::format("... and {} more", speech.states.size() - kMostStatesExplained));
  return page.take();
}

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
