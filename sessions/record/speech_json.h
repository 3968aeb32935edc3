// What a language model said and held in a step as JSON and back, for session files and JSON Lines
// (docs/session-format.md).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/language/language_values.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {

nlohmann::ordered_json speech_info_to_json(const SpeechInfo& info);
// Error corrupt: what was found and what was expected.
Result<SpeechInfo> read_speech_info(const nlohmann::json& json);
// "" without a language model, and back.
std::string speech_info_text(const SpeechInfo* info);
Result<SpeechInfo> read_speech_info_text(std::string_view text);

// Was nothing said, given out or compared?
bool is_silent(const StepSpeech& speech);

// Lists of lists of numbers; numbers that are not finite are null. Without the step.
nlohmann::ordered_json speech_to_json(const StepSpeech& speech);
// What the numbers of a speech are below.
struct SpeechLimits {
  std::int32_t num_requests = 0;
  std::int32_t num_groups = 0;
  std::int32_t num_blocks = 0;
  std::int32_t num_layers = 0;
  std::int32_t vocab_size = 0;
};
// Error corrupt: as above.
Result<StepSpeech> read_speech(const nlohmann::json& json, std::int64_t step,
                               const SpeechLimits& limits);
Result<StepSpeech> read_speech_text(std::string_view text, std::int64_t step,
                                    const SpeechLimits& limits);

}  // namespace hybridscope
