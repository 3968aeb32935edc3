// What a language model said in a run, in words: each request's text beside what a lone run of it
// says, and where they part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/language/language_values.h"
#include "core/model/kv_cache_spec.h"
#include "sessions/explain/explain_names.h"

namespace hybridscope {

// Which language model runs on a run's decisions, as windows, sessions and reports say it.

struct HybridModel;

struct SpeechLayer {
  std::int32_t group = -1;  // in whose blocks it keeps its state
  std::string kind;         // "attention", "Mamba2", "GatedDeltaNet", "short convolution"
  bool is_recurrent = false;
  friend bool operator==(const SpeechLayer&, const SpeechLayer&) = default;
};

struct SpeechInfo {
  std::string weights;  // the folder's name, without what is before it
  NumericForm form = NumericForm::recurrent;
  std::int32_t vocab_size = 0;  // 256: tokens are bytes
  std::vector<SpeechLayer> layers;
  friend bool operator==(const SpeechInfo&, const SpeechInfo&) = default;
};

// Error: no group of a layer's kind (groups_of_layers).
Result<SpeechInfo> make_speech_info(const HybridModel& model, const KVCacheConfig& config,
                                    const std::string& folder, NumericForm form);

// "recurrent", "chunked"; and back, absent for other words.
std::string_view numeric_form_name(NumericForm form);
std::optional<NumericForm> parse_numeric_form(std::string_view name);

// "/models/tiny/" is "tiny".
std::string weights_name(const std::string& folder);

// "Language model jargon-gdn, form recurrent".
std::string speech_words(const SpeechInfo& info);

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

// What a language model said and held in one step, in words.

// A section of a step's explanation: what each request says, drafts it rejects, and the states that
// are not the lone run's, at most kMostStatesExplained. Empty: nothing was said or compared.
inline constexpr std::size_t kMostStatesExplained = 12;
std::string explain_speech(const StepSpeech& speech, const SpeechInfo& info, const Names& names);

// What a language model said differently in two runs.

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
