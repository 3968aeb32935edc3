// What a language model said and held in the known steps of a run that is shown.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/language/language_values.h"
#include "core/language/spoken_texts.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {

class Speech {
 public:
  explicit Speech(SpeechInfo info) : info_(std::move(info)) {}

  const SpeechInfo& info() const { return info_; }
  // Steps come in order.
  void add(StepSpeech step) { steps_.push_back(std::move(step)); }

  std::int64_t last_step() const { return steps_.empty() ? 0 : steps_.back().step; }
  std::span<const StepSpeech> up_to(std::int64_t step) const;
  // What was said in the step; null: nothing is known of it.
  const StepSpeech* at(std::int64_t step) const;
  // What rows have sampled up to the step, by request.
  std::vector<SpokenText> texts_at(std::int64_t step);

 private:
  SpeechInfo info_;
  std::vector<StepSpeech> steps_;
  SpokenTexts texts_;  // of the first num_told_
  std::size_t num_told_ = 0;
};

// What is known of a run's language model.
struct ShownSpeech {
  Speech* speech = nullptr;  // null: see `why`
  bool is_awaited = false;   // the shown step, or one before it, is being computed
  std::string why = {};      // why nothing is known, or not all of it, as a sentence
};

}  // namespace hybridscope
