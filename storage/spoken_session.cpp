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
  for (const StepSpeech& step : speech.value()) texts.add(step.words);
  return std::optional(spoken_words(texts.taken(), language->vocab_size, names));
}

}  // namespace hybridscope
