// What a language model said and held in one step, in words.
#pragma once

#include <string>

#include "core/language/language_values.h"
#include "sessions/explain/explain_names.h"
#include "sessions/run/speech_info.h"

namespace hybridscope {

// A section of a step's explanation: what each request says, drafts it rejects, and the states that
// are not the lone run's, at most kMostStatesExplained. Empty: nothing was said or compared.
inline constexpr std::size_t kMostStatesExplained = 12;
std::string explain_speech(const StepSpeech& speech, const SpeechInfo& info, const Names& names);

}  // namespace hybridscope
