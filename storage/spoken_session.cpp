#include "storage/spoken_session.h"

#include <utility>

#include "core/language/spoken_texts.h"

namespace hybridscope {

Result<std::optional<SpokenWords>> spoken_session(SessionReader& reader, const Names& names) {
  const std::optional<SpeechInfo>& language = reader.info().header.language;
  if (!language) return std::optional<SpokenWords>();
  const auto speech = reader.speech();
  if (!speech.ok()) return speech.error();
  SpokenTexts texts;
  bool keeps_words = false;
  for (const StepSpeech& step : speech.value()) {
    texts.add(step.words);
    keeps_words = keeps_words || !step.words.prompts.empty() || !step.words.tokens.empty();
  }
  if (!keeps_words) return std::optional<SpokenWords>();
  return std::optional(spoken_words(texts.taken(), language->vocab_size, names));
}

}  // namespace hybridscope
